"""This process and its helpers: cores, memory, and processes apart for what a stranger wrote."""
