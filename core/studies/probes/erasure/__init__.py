"""Erasing a linear subspace from a model's states, in closed form and during a forward pass."""
