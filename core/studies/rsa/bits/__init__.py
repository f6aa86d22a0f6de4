"""Bits per byte: language models with different vocabularies on one text."""
