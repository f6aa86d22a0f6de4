"""The data dictionary of single pages; `core.results.columns` contains them."""
