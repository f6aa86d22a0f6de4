"""Structural probes on the checkpoints of a training run."""

PURPOSE = "how well structural probes predict trees at each step of a training run"
