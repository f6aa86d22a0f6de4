"""Probes on the steps of a training run."""

PURPOSE = "structural probes on the steps of a training run, by tokens seen"
