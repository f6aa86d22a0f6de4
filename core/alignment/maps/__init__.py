"""Aligners: maps from one space to another, closed-form and trained."""
