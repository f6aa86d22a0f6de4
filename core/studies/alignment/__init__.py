"""Seed alignment: maps between the hidden spaces of two models, evaluated on unseen words."""

ERRORS, MAPS = "Errors", "Maps"  # groups of views, beside experiments
