"""One sentence on the probe page: which it is, and the tree that a layer predicts for it."""
