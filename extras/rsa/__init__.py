"""Rarely asked studies of the RSA page."""
