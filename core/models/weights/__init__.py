"""Weight matrices of checkpoints and adapters, read one at a time, and their deltas."""
