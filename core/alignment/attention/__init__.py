"""Matched attention heads and mapped attention outputs."""
