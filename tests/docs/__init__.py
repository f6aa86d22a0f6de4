"""What the documentation says is run, found and spelled."""
