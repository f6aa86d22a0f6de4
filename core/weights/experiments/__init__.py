"""Experiments beside the weights study, each whole in one file: intruder dimensions."""
