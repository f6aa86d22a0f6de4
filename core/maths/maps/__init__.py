"""Aligners: maps from one space to another, in closed form or trained."""
