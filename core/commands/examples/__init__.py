"""The examples of the home page, and their findings."""
