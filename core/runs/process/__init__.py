"""Processes: cores, memory, what they remember, and separate processes for untrusted files."""
