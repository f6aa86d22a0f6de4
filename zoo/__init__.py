"""The models in the box: manifest, weights, parser, corpus, and the recipe that made them."""
