"""Structural probes of distance and depth: training, scores and baselines."""
