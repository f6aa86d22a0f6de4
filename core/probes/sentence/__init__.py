"""One sentence: its parse and the tree that a layer predicts."""
