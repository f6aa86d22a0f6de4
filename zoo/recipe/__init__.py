"""The recipe of the included models: tokenizer, pretraining seeds, fine-tunes, parser, manifest."""
