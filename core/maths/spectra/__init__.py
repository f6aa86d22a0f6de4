"""Vectors of a weight change, their distances, neighbours, nulls and trends."""
