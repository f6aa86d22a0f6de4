"""A benchmark with known answers: which measure finds the layers that were changed."""
