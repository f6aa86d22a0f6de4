"""Inner products of the weights of many models, one matrix at a time, in bounded memory.

Distances, norms and cosines of models, and cosines of their changes from any common base, follow
from these products alone.

Reference: Charikar et al. 2002 (count sketch). Deviations: none.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float
from numpy import ndarray

EXACT = 2**21  # entries of a delta up to which it is kept whole; above, each matrix is sketched
SKETCH = 2**14  # entries of one matrix's sketch
LEAST_CHANGE = 1e-6  # of a base's norm: a smaller change is rounding
HELD = 2**23  # numbers of all models' copies of a matrix; larger matrices are sketched to fit
LEAST_ENTRIES = 2**12  # entries of a sketch at least


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


def multiply_models(
    matrices: Iterable[Float[ndarray, "row column"]], count: int, seed: int, held: int = HELD
) -> tuple[Float[ndarray, "model model"], Float[ndarray, "model model"]]:
    """Multiply a matrix of every model with that of every other.

    Args:
        matrices: One of each model, of one shape; one is in memory at a time.
        count: How many there are.
        seed: Of the order of rows and of sketches.
        held: Numbers of all models that may be held; where the matrices have more, they are
            sketched, which gives squared distances an error of sqrt(2 / entries).

    Returns:
        Inner products of every two models, and the same with the rows of the second in random
        order.

    Example:
        >>> multiply_models(iter([np.eye(2), np.ones((2, 2))]), 2, seed=0)[0].tolist()
        [[2.0, 2.0], [2.0, 4.0]]
    """
    most = max(LEAST_ENTRIES, held // max(1, count))
    plain: list[ndarray] = []
    mixed: list[ndarray] = []
    for matrix in matrices:
        order = np.random.default_rng(seed).permutation(len(matrix))
        for turned, rows in ((matrix, plain), (matrix[order], mixed)):
            small = matrix.size <= most
            rows.append(turned.ravel() if small else calc_sketch(turned, seed, most))
    first, second = np.stack(plain).astype(np.float64), np.stack(mixed).astype(np.float64)
    return first @ first.T, first @ second.T


def norms_of(products: Float[ndarray, "*matrix model model"]) -> Float[ndarray, "*matrix model"]:
    """Calculate Frobenius norms.

    Example:
        >>> norms_of(np.array([[4.0, 1.0], [1.0, 9.0]])).tolist()
        [2.0, 3.0]
    """
    norms: ndarray = np.sqrt(np.maximum(np.diagonal(products, axis1=-2, axis2=-1), 0.0))
    return norms


def distances_from(
    products: Float[ndarray, "model model"], norms: Float[ndarray, " model"]
) -> Float[ndarray, "model model"]:
    """Calculate Frobenius distances of models from their inner products and norms.

    Example:
        >>> distances_from(np.array([[4.0, 2.0], [2.0, 9.0]]), np.array([2.0, 3.0])).tolist()
        [[0.0, 3.0], [3.0, 0.0]]
    """
    squares = norms[:, None] ** 2 + norms[None] ** 2 - products - products.T
    distances: ndarray = np.sqrt(np.maximum(squares, 0.0))
    np.fill_diagonal(distances, 0.0)
    return distances


def cosines_from(
    products: Float[ndarray, "*matrix model model"], norms: Float[ndarray, "*matrix model"]
) -> Float[ndarray, "*matrix model model"]:
    """Calculate cosines of models from their inner products and norms; NaN for a norm of zero.

    Example:
        >>> cosines_from(np.array([[4.0, 3.0], [3.0, 9.0]]), np.array([2.0, 3.0])).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    lengths = norms[..., :, None] * norms[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(lengths > 0, products / lengths, np.nan)


def change_cosines(
    products: Float[ndarray, "*matrix model model"],
    paired: Float[ndarray, "*matrix model model"],
    base: int,
) -> Float[ndarray, "*matrix model model"]:
    """Calculate cosines of the models' changes from one of them, the base.

    Args:
        products: Inner products of the weights, as they are or with rows permuted.
        paired: Inner products as they are, from which the norms of the changes follow.
        base: Place of the base among the models.

    Returns:
        Cosines; NaN where a model did not change.

    Example:
        >>> weights = np.array([[5.0, 5.0], [6.0, 5.0], [6.0, 6.0]])
        >>> products = weights @ weights.T
        >>> float(change_cosines(products, products, 0)[1, 2].round(4))
        0.7071
    """
    squares = np.diagonal(_from_base(paired, base), axis1=-2, axis2=-1)
    least = LEAST_CHANGE**2 * paired[..., base, base, None]
    norms = np.sqrt(np.where(squares > least, squares, 0.0))
    return cosines_from(_from_base(products, base), norms)


def _from_base(
    products: Float[ndarray, "*matrix model model"], base: int
) -> Float[ndarray, "*matrix model model"]:
    """Inner products of changes from a base, from those of the weights."""
    left, right = products[..., :, base, None], products[..., None, base, :]
    changes: ndarray = products - left - right + products[..., base, None, base, None]
    return changes
