"""What a reader's own browser keeps or does: the guide of a first visit, saved studies."""
