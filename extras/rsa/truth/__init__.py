"""A benchmark with known answers: which measure finds the layers that were changed."""

PURPOSE = "which measure finds the layers that were changed on purpose"
