"""Weight clustering: what a model was fine-tuned on, from its weights alone."""
