"""What the model of a configuration computes, counted in a process of its own."""
