"""A model's files, read and checked without running any of them."""
