"""Representational similarity: in which layers do fine-tuned models differ from their base, and by
how much?"""

LAYERS, TRAINING = "Layers", "Training"  # groups of views, beside experiments
