"""Seed alignment: maps between the hidden spaces of two models, judged on held-out sentences."""
