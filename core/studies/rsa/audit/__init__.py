"""Checkpoints of a run or a set of seeds, checked for what is wrong with the files themselves."""
