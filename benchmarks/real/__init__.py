"""Real models from the Python package index through every study: `make real`."""
