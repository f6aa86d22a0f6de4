"""Is the probed subspace used? It is erased at a layer while the model runs."""

PURPOSE = "what a model loses when the subspace of its structural probe is erased at a layer"
