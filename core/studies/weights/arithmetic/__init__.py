"""Task arithmetic: what fine-tunes do when their changes are added, and to each other."""
