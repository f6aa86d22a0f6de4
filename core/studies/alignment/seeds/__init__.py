"""Whether two models learn the same space: maps between them, evaluated on unseen words."""
