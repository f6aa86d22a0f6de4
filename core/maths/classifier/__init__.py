"""Linear classifiers: how they are fitted, and what fits to the same items share."""
