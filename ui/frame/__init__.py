"""What stands round every page: shell, presentation, errors, the server's log."""
