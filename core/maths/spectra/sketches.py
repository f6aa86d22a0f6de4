"""Count sketches of updates that are too large to be kept whole.

Reference: Charikar et al. 2002 (count sketch). Deviations: none.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy import ndarray

EXACT = 2**21  # entries of a delta up to which it is kept whole; above, each matrix is sketched
SKETCH = 2**14  # entries of one matrix's sketch


def calc_sketch(
    matrix: Float[ndarray, "row column"], seed: int, size: int = SKETCH
) -> Float[ndarray, " entry"]:
    """Sketch a matrix: inner products keep an error of 1 / sqrt(size) of the norms' product.

    Each entry is added with a random sign to a random one of `size` sums. The same seed and shape
    use the same sums, so that sketches of two updates can be compared.

    Args:
        seed: Specific to the matrix's place in the model.

    Example:
        >>> calc_sketch(np.eye(2), seed=0, size=8).shape
        (8,)
        >>> float((calc_sketch(np.eye(2), 0) ** 2).sum())
        2.0
    """
    rng = np.random.default_rng(seed)
    entries = np.asarray(matrix, np.float64).ravel()
    places = rng.integers(size, size=entries.size, dtype=np.int32)
    signs = rng.integers(2, size=entries.size, dtype=np.int8) * 2 - 1
    return np.bincount(places, weights=entries * signs, minlength=size)
