"""The RSA study: in which layers models differ."""

PURPOSE = "where models differ, layer by layer: representational similarity"
