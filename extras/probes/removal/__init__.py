"""Is the probed subspace used? It is erased at a layer while the model runs."""
