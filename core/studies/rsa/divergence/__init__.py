"""What two language models predict at the same place in a text, and how much it differs."""
