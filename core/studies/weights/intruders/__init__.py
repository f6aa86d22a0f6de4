"""Intruder dimensions: leading singular directions of a fine-tune that the base lacks."""

PURPOSE = "intruder dimensions: leading directions of a fine-tune that resemble none of the base's"
