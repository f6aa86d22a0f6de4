"""Structural probes: distances and depths, their training, scores and baselines."""
