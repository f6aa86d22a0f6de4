"""The loaded model: construction, memory, and forward passes, whole or layer by layer."""
