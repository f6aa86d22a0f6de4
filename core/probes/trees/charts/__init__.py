"""Charts of a probe study, a module for each kind of figure."""
