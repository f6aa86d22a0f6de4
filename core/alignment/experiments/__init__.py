"""Experiments beside the seed-alignment study, each whole in one file: bijection check, stitching, attention."""
