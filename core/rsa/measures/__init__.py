"""Measures of similarity, their nulls and their bands."""
