"""Whether maps undo known bijections of a model's states."""

PURPOSE = "whether maps undo known bijections of a model's states"
