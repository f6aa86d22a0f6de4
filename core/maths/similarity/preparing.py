"""Preparation of vectors before they are compared: checks, standardising, dropping rogue
dimensions.

Two dimensions with large values can dominate the cosine: with two shared outliers out of 768 on
otherwise independent Gaussians RSA is above .99 raw and near zero standardised.

Reference:
    Timkey & van Schijndel 2021, EMNLP, All Bark and No Bite: Rogue Dimensions.
Deviations: the dimensions dropped are those with the largest mean square, not with the largest
share of the mean cosine: the two agree where a few dimensions dominate, and the mean square needs
no pairs.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import ShapeError

FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
MUCH = 1_000_000_000  # multiplications: n = 1,000 with d = 768 stays below, n = 2,000 does not
ROUNDING = 1e-13  # a dimension whose range is below this share of its size counts as constant


def check_pair(x: ArrayLike, y: ArrayLike, least: int = 3) -> tuple[FloatArray, FloatArray]:
    """Check two sets of vectors of the same items, and return them as float64.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items in another space, shape (item, another d_model).
        least: The smallest number of items for the computation.

    Raises:
        ShapeError: If one is not two-dimensional, if the numbers of items differ or are below
            `least`, or if a value is not finite.

    Example:
        >>> x, y = check_pair([[1], [2], [3]], [[1, 0], [0, 1], [1, 1]])
        >>> x.shape, y.shape, x.dtype.name
        ((3, 1), (3, 2), 'float64')
        >>> check_pair([[1], [2], [3]], [[1], [2]])
        Traceback (most recent call last):
            ...
        core.errors.ShapeError: Both spaces need the same items, got 3 and 2.
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 2 or second.ndim != 2:
        raise ShapeError(
            f"Vectors must have shape (item, d_model), got {first.shape} and {second.shape}."
        )
    if first.shape[0] != second.shape[0]:
        raise ShapeError(
            f"Both spaces need the same items, got {first.shape[0]} and {second.shape[0]}."
        )
    if first.shape[0] < least:
        raise ShapeError(
            f"This comparison needs at least {least} items, got {first.shape[0]}: "
            "sample more words."
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ShapeError("Some vectors hold NaN or infinite values: leave these items out.")
    return first, second


def centred(vectors: ArrayLike) -> FloatArray:
    """Centre each dimension over items, exactly 0 if it is constant; shape (item, d_model).

    Example:
        >>> centred([[1, 5], [3, 5]]).tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
    """
    array = np.asarray(vectors, dtype=np.float64)
    mean = array.mean(axis=0)
    high, low = array.max(axis=0, initial=-np.inf), array.min(axis=0, initial=np.inf)
    still = high - low <= ROUNDING * np.maximum(np.abs(high), np.abs(low))
    result = array - mean
    if still.any():
        result[:, still] = 0.0
    return cast("FloatArray", result)


def product_norm(
    x: FloatArray | SingleArray, y: FloatArray | SingleArray, single: bool | None = None
) -> float:
    """Sum the product of both linear kernels over all pairs of items: |X^T Y|^2.

    It is computed as <XX^T, YY^T> if that is smaller.

    Args:
        x: Shape (item, d_model).
        y: Shape (item, another d_model).
        single: Whether to multiply in float32 and add up in float64: twice as fast, differences
            below 1e-6 for vectors that are stored in float16. By default for large products.

    Example:
        >>> product_norm(np.array([[1.0], [2.0]]), np.array([[3.0], [1.0]]))
        25.0
    """
    items, width = len(x), max(x.shape[1], y.shape[1])
    if single is None:
        single = items * width * min(items, width) > MUCH
    if single:
        same = (
            y is x
        )  # one array on both sides: the product is symmetric, and BLAS computes half of it
        x = x.astype(np.float32, copy=False)
        y = x if same else y.astype(np.float32, copy=False)
    if width <= items:
        product = (x.T @ y).astype(np.float64, copy=False)
        return float(np.vdot(product, product))
    return float(
        np.vdot((x @ x.T).astype(np.float64, copy=False), (y @ y.T).astype(np.float64, copy=False))
    )


def standardise(vectors: ArrayLike) -> FloatArray:
    """Scale each dimension to mean 0 and standard deviation 1 over items, shape (item, d_model).

    A constant dimension becomes 0.

    Example:
        >>> standardise([[1.0, 5.0], [3.0, 9.0]]).tolist()
        [[-1.0, -1.0], [1.0, 1.0]]
    """
    result = centred(vectors)
    spread = result.std(axis=0)
    return cast(
        "FloatArray", np.divide(result, spread, out=np.zeros_like(result), where=spread > 0)
    )


def rogue_dimensions(vectors: ArrayLike, count: int) -> NDArray[np.int64]:
    """Find the `count` dimensions with the largest mean square over items, largest first.

    Raises:
        ShapeError: If `count` would leave no dimension, or is negative.

    Example:
        >>> rogue_dimensions([[1.0, 30.0, 2.0], [0.0, 40.0, 2.0]], 1).tolist()
        [1]
    """
    array = np.asarray(vectors, dtype=np.float64)
    if not 0 <= count < array.shape[1]:
        raise ShapeError(
            f"{count} rogue dimensions cannot be dropped from {array.shape[1]}: "
            f"choose 0 to {array.shape[1] - 1}."
        )
    return np.argsort(-np.mean(array**2, axis=0), kind="stable")[:count]


def prepare(vectors: ArrayLike, standardised: bool = False, drop_rogue: int = 0) -> FloatArray:
    """Drop rogue dimensions, then standardise the rest.

    Raises:
        ShapeError: If `drop_rogue` would leave no dimension, or is negative.

    Example:
        >>> prepare([[1.0, 30.0], [3.0, 40.0]], standardised=True, drop_rogue=1).tolist()
        [[-1.0], [1.0]]
    """
    array = np.asarray(vectors, dtype=np.float64)
    return _without(array, rogue_dimensions(array, drop_rogue), standardised)


def prepare_pair(
    x: ArrayLike, y: ArrayLike, standardised: bool = False, drop_rogue: int = 0, *, together: bool
) -> tuple[FloatArray, FloatArray]:
    """Prepare both spaces for a measure.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        standardised: Whether dimensions are standardised, after dropping.
        drop_rogue: How many rogue dimensions each space loses, first.
        together: Whether both lose the same ones, those with the largest share of the mean square
            in the two spaces together, as a measure that compares coordinate by coordinate needs.
            Otherwise each loses its own, which are mostly the same after fine-tuning.

    Raises:
        ShapeError: If `drop_rogue` would leave no dimension, or is negative.

    Example:
        >>> x, y = [[1.0, 30.0], [3.0, 40.0]], [[50.0, 1.0], [60.0, 2.0]]
        >>> [space.tolist() for space in prepare_pair(x, y, drop_rogue=1, together=False)]
        [[[1.0], [3.0]], [[1.0], [2.0]]]
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if not together or first.shape[1] != second.shape[1]:
        return prepare(first, standardised, drop_rogue), prepare(second, standardised, drop_rogue)
    dropped = rogue_dimensions(np.concatenate([unit_norm(first), unit_norm(second)]), drop_rogue)
    return _without(first, dropped, standardised), _without(second, dropped, standardised)


def _without(vectors: FloatArray, dropped: NDArray[np.int64], standardised: bool) -> FloatArray:
    left = np.delete(vectors, dropped, axis=1) if dropped.size else vectors
    return standardise(left) if standardised else left


def unit_norm(vectors: FloatArray) -> FloatArray:
    """Scale a space to norm 1; zeros stay zeros.

    Example:
        >>> unit_norm(np.array([[3.0], [4.0]])).tolist()
        [[0.6], [0.8]]
    """
    norm = float(np.linalg.norm(vectors))
    return vectors / norm if norm > 0 else vectors
