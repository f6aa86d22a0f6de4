"""Checkpoints of a run or a set of seeds, checked for what is wrong with the files themselves."""

PURPOSE = "which checkpoints of a run are identical, missing, swapped, out of order or foreign"
