"""Figures of the weight-clustering study."""
