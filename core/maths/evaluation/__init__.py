"""How maps between two spaces are fitted and scored: the split, the scores, and both for every
map."""
