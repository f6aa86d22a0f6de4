"""What only one room's page shows."""
