"""Matched attention heads and mapped attention outputs."""

PURPOSE = "matched attention heads and mapped attention outputs"
