"""The home page: examples, the comparison of a pair, the table of included models."""
