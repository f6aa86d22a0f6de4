"""Random trees, for tests of what is read of trees."""

from __future__ import annotations

import numpy as np

from core.maths.trees import heads_from_edges


def random_heads(n: int, rng: np.random.Generator) -> tuple[int, ...]:
    """1-based heads of `n` words, 0 for the root: drawn uniformly from all trees, through a random
    Prüfer sequence."""
    code = rng.integers(0, n, size=max(n - 2, 0)).tolist()
    degree = np.bincount(np.asarray(code, dtype=np.int64), minlength=n) + 1
    edges = []
    for node in code:
        leaf = int(np.flatnonzero(degree == 1)[0])
        edges.append((leaf, node))
        degree[[leaf, node]] -= 1
    if n > 1:
        first, second = np.flatnonzero(degree == 1).tolist()
        edges.append((first, second))
    return heads_from_edges(edges, int(rng.integers(n)), n)
