"""Attention of two models: matched heads and mapped attention outputs."""

PURPOSE = "whether attention heads and attention outputs of two models correspond"
