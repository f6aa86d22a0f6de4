"""The barrier: losses on the straight line between two networks' weights."""
