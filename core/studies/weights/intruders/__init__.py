"""Intruder dimensions: leading singular directions of a fine-tune that the base lacks."""
