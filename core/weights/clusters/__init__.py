"""The weight-clustering study: what a model was fine-tuned on, from its weights."""

PURPOSE = "what a model was fine-tuned on, from its weights alone"
