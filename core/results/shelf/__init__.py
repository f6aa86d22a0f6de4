"""Results of models that are not included, shipped whole."""
