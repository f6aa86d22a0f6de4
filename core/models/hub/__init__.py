"""The model Hub: client, lists of fine-tunes, ranges of files, errors."""
