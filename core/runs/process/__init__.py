"""Processes: cores, memory, and separate processes for untrusted files."""
