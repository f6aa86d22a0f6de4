"""The RSA study: where models differ, by layer."""
