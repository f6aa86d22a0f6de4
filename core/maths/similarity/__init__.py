"""Similarity measures with their bands and their chance levels."""
