"""The polar probe: distances give the edges of a tree, directions their labels and heads."""
