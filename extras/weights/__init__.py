"""Rarely asked studies of the page on weight clustering."""
