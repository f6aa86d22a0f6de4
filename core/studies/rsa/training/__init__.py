"""Checkpoints of a training run, compared with the final model."""

PURPOSE = "checkpoints of a training run compared with the final model, by layer and tokens seen"
