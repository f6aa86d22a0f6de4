"""Stitching: the lower layers of one model, a map, and the upper layers and head of another."""

PURPOSE = "whether one model's upper layers and head can use another model's states after a map"
