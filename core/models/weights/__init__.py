"""Weight matrices: read one at a time from checkpoints and adapters, and their deltas."""
