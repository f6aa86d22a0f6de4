"""Studies that are rarely asked for, added to the house as those of other packages are: through the
entry points that pyproject.toml lists."""
