"""The bijection check: whether maps recover known bijections of a model's states."""

PURPOSE = "whether the maps recover a bijection that is known to exist"
