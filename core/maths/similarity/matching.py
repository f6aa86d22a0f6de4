"""Measures without pairs of items: the cosine of matching vectors, and similarity after the best
rotation.

References:
    Mean cosine: the community notebook on fine-tuned BERT; meaningful only between models that
    share a start.
    Procrustes: Ding, Denain & Steinhardt 2021, NeurIPS, Grounding Representation Similarity;
    Schönemann 1966.
Deviations: Procrustes is given as a similarity, |X^T Y|_* / (|X|_F |Y|_F) of the centred spaces: 1
minus half the squared Procrustes distance between the spaces scaled to unit norm. It is in
[0, 1], and 1 for spaces that differ by rotation, reflection, shift and isotropic scale. The mean
cosine is not invariant to a rotation of one space.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from core.errors import ShapeError
from core.maths.similarity.kernels import FloatArray, IntArray, unit_rows
from core.maths.similarity.preparing import centred, check_pair
from core.maths.statistics import jackknife_groups, jackknife_sentences


def mean_cosine(x: ArrayLike, y: ArrayLike) -> float:
    """Average the cosine between an item's two vectors over items, in [-1, 1].

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, d_model).

    Raises:
        ShapeError: If the shapes differ or a value is not finite.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> round(mean_cosine(x, 2 * x), 2)
        1.0
        >>> round(mean_cosine(x, -x), 2)
        -1.0
    """
    return float(_cosines(x, y).mean())


def mean_cosine_jackknife(
    x: ArrayLike, y: ArrayLike, sentence: ArrayLike, groups: int, rng: np.random.Generator
) -> FloatArray:
    """Compute the mean cosine with each group of sentences left out, shape (group,).

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> mean_cosine_jackknife(x, -x, np.arange(4), 2,
        ...     np.random.default_rng(0)).round(2).tolist()
        [-1.0, -1.0]
    """
    cosines = _cosines(x, y)
    group, _ = jackknife_groups(sentence, groups, rng)
    left = cosines.sum() - np.bincount(group, cosines)
    return np.asarray(left / (len(cosines) - np.bincount(group)))


def mean_cosine_null(x: ArrayLike, y: ArrayLike, permutations: IntArray) -> FloatArray:
    """Compute the mean cosine with the items shuffled, shape (draw,): high if a space is a narrow
    cone.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors, shape (item, d_model).
        permutations: Orders of the second space's items, shape (draw, item).

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> mean_cosine_null(x, x, np.array([[0, 1, 2, 3], [1, 0, 3, 2]])).round(2).tolist()
        [1.0, 0.35]
    """
    first, second = _directions(x, y)
    return np.array(
        [float(np.einsum("id,id->i", first, second[order]).mean()) for order in permutations]
    )


def procrustes(x: ArrayLike, y: ArrayLike) -> float:
    """Compute the similarity after the best rotation, in [0, 1]; NaN for a constant space.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> turned = x @ np.array([[0.0, -1.0], [1.0, 0.0]])
        >>> round(procrustes(x, turned), 2)
        1.0
        >>> round(procrustes(x, x[[1, 0, 3, 2]]), 2)
        0.89
    """
    first, second = map(centred, check_pair(x, y))
    return _nuclear(first.T @ second, float(np.vdot(first, first)), float(np.vdot(second, second)))


def procrustes_jackknife(
    x: ArrayLike, y: ArrayLike, sentence: ArrayLike, groups: int, rng: np.random.Generator
) -> FloatArray:
    """Compute Procrustes similarity with each group of sentences left out, shape (group,).

    Sums and cross products of the group are subtracted from those of all items, so that a replicate
    costs one SVD.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> procrustes_jackknife(x, -x, np.arange(4), 2, np.random.default_rng(0)).round(2).tolist()
        [1.0, 1.0]
    """
    first, second = map(centred, check_pair(x, y))
    cross, own_x, own_y = first.T @ second, np.vdot(first, first), np.vdot(second, second)
    replicates = []
    for remaining in jackknife_sentences(sentence, groups, rng):
        a, b = (np.delete(space, remaining, axis=0) for space in (first, second))
        # the remaining items sum to minus these totals: all sum to 0
        total_a, total_b = a.sum(axis=0), b.sum(axis=0)
        replicates.append(
            _nuclear(
                cross - a.T @ b - np.outer(total_a, total_b) / len(remaining),
                float(own_x - np.vdot(a, a) - total_a @ total_a / len(remaining)),
                float(own_y - np.vdot(b, b) - total_b @ total_b / len(remaining)),
            )
        )
    return np.array(replicates)


def procrustes_null(x: ArrayLike, y: ArrayLike, permutations: IntArray) -> FloatArray:
    """Compute Procrustes similarity with the items shuffled, shape (draw,).

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors, shape (item, another d_model).
        permutations: Orders of the second space's items, shape (draw, item).

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> procrustes_null(x, x, np.array([[0, 1, 2, 3], [1, 0, 3, 2]])).round(2).tolist()
        [1.0, 0.89]
    """
    first, second = map(centred, check_pair(x, y))
    norms = float(np.vdot(first, first)), float(np.vdot(second, second))
    return np.array([_nuclear(first.T @ second[order], *norms) for order in permutations])


def _nuclear(cross: FloatArray, own_x: float, own_y: float) -> float:
    if own_x <= 0 or own_y <= 0:
        return float("nan")
    return float(np.linalg.svd(cross, compute_uv=False).sum() / np.sqrt(own_x * own_y))


def _directions(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Scale the vectors of both spaces to length 1."""
    first, second = check_pair(x, y, least=1)
    if first.shape[1] != second.shape[1]:
        raise ShapeError(
            "The cosine of matching vectors needs spaces of the same d_model, "
            f"got {first.shape[1]} and {second.shape[1]}: "
            "choose RSA, CKA, CCA or Procrustes for these models."
        )
    return unit_rows(first), unit_rows(second)


def _cosines(x: ArrayLike, y: ArrayLike) -> FloatArray:
    first, second = _directions(x, y)
    return cast("FloatArray", np.einsum("id,id->i", first, second))
