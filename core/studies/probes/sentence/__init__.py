"""One sentence: its parse, and the tree that a probe on one layer predicts."""
