"""Models of one architecture as trees of descent, by their weights alone."""
