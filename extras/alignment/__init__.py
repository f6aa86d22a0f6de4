"""Rarely asked studies of the page on seed alignment."""
