"""Structural probes on the checkpoints of a training run."""
