"""The RSA study: where models differ, by layer."""

PURPOSE = "where models differ, layer by layer: representational similarity"
