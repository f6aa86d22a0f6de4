"""Papers: one record each, and functions that cite them."""
