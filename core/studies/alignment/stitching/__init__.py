"""Stitching: the lower layers of one model, a map, and the upper layers and head of another."""
