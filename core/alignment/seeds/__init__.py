"""Whether two models learn the same space: maps judged on held-out words."""

PURPOSE = "whether two models learn the same space: maps judged on unseen words"
