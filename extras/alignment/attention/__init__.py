"""Attention of two models: matched heads and mapped attention outputs."""
