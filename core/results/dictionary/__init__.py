"""The data dictionary by subject; `core.results.columns` joins its parts."""
