"""Whether two models learn the same space: maps judged on held-out words."""
