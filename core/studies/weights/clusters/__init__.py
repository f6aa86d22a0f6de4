"""Weight clustering: what a model was fine-tuned on, by its weight update alone."""
