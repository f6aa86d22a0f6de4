"""What a configuration asks for: modules, numbers and work, counted before a model is made."""
