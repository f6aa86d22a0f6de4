"""Minimal pairs: sentences that differ in grammar alone, made from templates, and their scores."""
