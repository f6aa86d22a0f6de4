"""Rarely asked studies of the page on probe trees."""
