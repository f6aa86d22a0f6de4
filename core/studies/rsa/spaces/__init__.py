"""The map of models: every layer of every model as a point, by a distance that is a metric."""
