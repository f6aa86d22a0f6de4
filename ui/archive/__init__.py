"""What outlives the page that made it: reports kept at an address."""
