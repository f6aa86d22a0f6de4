"""The causal test of intruder dimensions: what they do to the model."""
