"""The included models: manifest, weights, parser, corpus, and the recipe that made them."""
