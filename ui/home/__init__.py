"""What only the home page shows."""
