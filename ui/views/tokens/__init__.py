"""The token map of the RSA page."""
