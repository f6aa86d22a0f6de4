"""Experiments of the probe page: probes through training."""
