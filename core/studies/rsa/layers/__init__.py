"""The RSA study: in which layers models differ."""
