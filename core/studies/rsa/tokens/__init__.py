"""The token map: words of a passage through the layers."""
