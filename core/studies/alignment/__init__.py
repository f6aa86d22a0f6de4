"""Seed alignment: maps between the hidden spaces of two models, evaluated on unseen words."""
