"""The recipe that makes the box: tokenizer, pretraining seeds, fine-tunes, parser, manifest."""
