"""Minimal pairs beside probes: what models do, and what can be decoded from them."""
