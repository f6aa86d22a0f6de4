"""Probes on the steps of a training run."""
