"""Encoders, a file for each family."""
