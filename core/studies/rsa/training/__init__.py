"""Checkpoints of a training run, compared with the final model."""
