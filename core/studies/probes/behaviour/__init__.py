"""Minimal pairs beside probes: what models do, and what can be decoded from them."""

PURPOSE = "whether models with higher probe scores prefer grammatical sentences more often"
