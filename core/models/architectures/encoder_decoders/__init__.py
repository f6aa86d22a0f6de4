"""Encoder-decoders, a file for each family."""
