"""Whether maps undo known bijections of a model's states."""
