"""Papers: one record each, and what cites them."""
