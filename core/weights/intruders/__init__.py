"""Intruder dimensions: singular directions of a fine-tune that the base does not have."""
