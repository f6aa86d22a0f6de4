"""Intruder dimensions: singular directions of a fine-tune that the base does not have."""

PURPOSE = "intruder dimensions: leading directions of a fine-tune that resemble none of the base's"
