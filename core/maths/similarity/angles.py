"""Angles between spaces: a distance that is a metric, so that many spaces can be placed on one map.

The angle of two centred spaces is the arccosine of their Procrustes similarity: 0 for spaces that
differ by rotation, reflection, shift and scale, 90 degrees for orthogonal ones. It obeys the
triangle inequality, which the similarity itself and 1 minus it do not.

References: Williams, Kunz, Kornblith & Linderman 2021, NeurIPS, Generalized Shape Metrics on Neural
Representations (the metric, there in radians); Efron & Tibshirani 1993 (the bootstrap).
Deviations: in degrees. Resampled angles keep the rotation of all items, which is what the
derivative of the nuclear norm by an item's weight says: a resample costs no singular values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.maths.similarity.kernels import FloatArray, IntArray
from core.maths.similarity.preparing import centred, check_pair
from core.maths.statistics import sum_by_group


def angle(x: ArrayLike, y: ArrayLike) -> float:
    """Compute the angle of two spaces in degrees, 0 to 90; NaN for a constant space.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> round(angle(x, 3 * x[:, ::-1] + 1), 2)
        0.0
        >>> round(angle(x, x[[1, 0, 3, 2]]), 1)
        27.2
    """
    first, second = check_pair(x, y)
    once = np.arange(len(first)), np.ones((1, len(first)), dtype=np.int64)
    return between(Space.of(first, *once), Space.of(second, *once))[0]


@dataclass(frozen=True)
class Space:
    """A centred space of unit norm, and what its resamples need.

    Attributes:
        rows: (item, d_model).
        group: Sentence of each item, from 0, (item,).
        counts: How often each sentence occurs in each draw, (draw, sentence).
        sizes: Items of each draw, (draw,).
        sums: Sum of the drawn items, (draw, d_model).
        norms: Squared norm of each draw, centred again, (draw,).
    """

    rows: FloatArray
    group: IntArray
    counts: IntArray
    sizes: FloatArray
    sums: FloatArray
    norms: FloatArray

    @classmethod
    def of(cls, vectors: ArrayLike, group: IntArray, counts: IntArray) -> Space:
        """Prepare vectors (item, d_model) for `between`; attributes say what the others are."""
        rows = centred(np.asarray(vectors, dtype=np.float64))
        with np.errstate(invalid="ignore", divide="ignore"):  # a constant space has no direction
            rows = rows / np.linalg.norm(rows)
        groups = counts.shape[1]
        sizes = (counts @ np.bincount(group, minlength=groups)).astype(np.float64)
        sums = counts @ sum_by_group(rows, group, groups, axis=0)
        squares = counts @ sum_by_group((rows**2).sum(1), group, groups)
        return cls(rows, group, counts, sizes, sums, squares - (sums**2).sum(1) / sizes)


def between(x: Space, y: Space) -> tuple[float, FloatArray]:
    """Compute the angle of two spaces, and that of each draw, in degrees.

    Returns:
        The angle, and shape (draw,).

    Example:
        >>> how = np.arange(3), np.array([[1, 1, 1], [2, 1, 0]])
        >>> x = Space.of([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]], *how)
        >>> value, drawn = between(x, x)
        >>> round(value, 4), drawn.shape
        (0.0, (2,))
    """
    cross = x.rows.T @ y.rows
    if not np.isfinite(cross).all():
        return float("nan"), np.full(len(x.sizes), np.nan)
    left, values, right = np.linalg.svd(cross, full_matrices=False)
    turned = x.rows @ (left @ right)
    shares = sum_by_group((turned * y.rows).sum(1), x.group, x.counts.shape[1])
    means = np.einsum("bd,bd->b", x.sums @ (left @ right), y.sums) / x.sizes
    cosines = (x.counts @ shares - means) / np.sqrt(x.norms * y.norms)
    return float(_degrees(values.sum())), _degrees(cosines)


def _degrees(cosine: FloatArray) -> FloatArray:
    return np.degrees(np.arccos(np.clip(cosine, 0.0, 1.0)))


def aligned(points: ArrayLike, onto: ArrayLike) -> FloatArray:
    """Rotate, reflect and shift points so that they lie as near to others as they can.

    Args:
        points: Shape (point, axis).
        onto: The same points elsewhere.

    Reference: Schönemann 1966.

    Example:
        >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
        >>> bool(np.allclose(aligned(square[:, ::-1] + 3, square), square))
        True
    """
    moved, fixed = centred(points), centred(onto)
    left, _, right = np.linalg.svd(moved.T @ fixed)
    return np.asarray(moved @ (left @ right) + np.asarray(onto, dtype=np.float64).mean(0))
