"""A sweep: one study or several with every combination of the values that a file lists."""
