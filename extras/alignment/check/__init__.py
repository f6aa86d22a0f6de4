"""The bijection check: whether maps recover known bijections of a model's states."""
