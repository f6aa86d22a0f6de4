"""Decoders, a file for each family."""
