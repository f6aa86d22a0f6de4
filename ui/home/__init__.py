"""The home page: examples, the comparison of a pair, sweeps, the table of included models."""
