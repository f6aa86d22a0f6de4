"""Models of one architecture as trees of descent, by their weights alone."""

PURPOSE = "which model comes from which: a tree by weights, with copies and strangers"
