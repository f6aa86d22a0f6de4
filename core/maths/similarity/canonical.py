"""Canonical correlations: how well can each space be predicted from the other by a linear map?

All three forms start from orthonormal bases of the centred spaces, by a rank-truncated SVD in
float64; the singular values of their product are the canonical correlations. Chance level is far
from 0: independent Gaussians with n = 1000, d = 768 score .82; with n <= d any two spaces score 1.

References:
    Hotelling 1936. Mean CCA: Kornblith et al. 2019, ICML.
    SVCCA: Raghu et al. 2017, NeurIPS (directions that hold 99 % of the variance, then mean CCA).
    PWCCA: Morcos, Raghu & Bengio 2018, NeurIPS (correlations weighted by how much of X they account
    for).
Deviations: PWCCA's weights are the paper's, sums of |<canonical variable, neuron of X>| over X's
neurons (centred columns), so that a rotation of X changes it a little, unlike the other measures
here; the correlations are weighted only over the smaller of the two ranks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.maths.similarity.kernels import FloatArray, IntArray
from core.maths.similarity.preparing import centred, check_pair
from core.maths.statistics import jackknife_sentences, projection_weights

SVCCA_VARIANCE = 0.99
RANK = 1e-12  # of the largest singular value: smaller ones are rounding
DEGENERATE = 1e-4  # a whitening factor below this: the remaining items no longer span the space


@dataclass(frozen=True)
class Basis:
    """An orthonormal basis of a centred space: `basis` (item, rank), `scale` (rank,) its singular
    values.

    `neurons` (rank, d_model) are the space's columns in that basis.
    """

    basis: FloatArray
    scale: FloatArray
    neurons: FloatArray


def canonical(x: ArrayLike, y: ArrayLike, form: str) -> float:
    """Compute the weighted or plain mean of the canonical correlations, in [0, 1]; NaN for a
    constant space.

    Args:
        x: Vectors, shape (item, d_model); of "pwcca", the base model's, which give the weights.
        y: Vectors of the same items, shape (item, another d_model).
        form: "cca"; "svcca", of the directions that hold 99 % of each space's variance; or "pwcca".

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> y = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0], [0.0, 1.0]])
        >>> round(canonical(x, x @ np.array([[2.0, 1.0], [0.0, 3.0]]), "cca"), 2)
        1.0
        >>> round(canonical(x, y, "cca"), 2)
        0.54
    """
    return canonical_forms(x, y, (form,))[form]


def canonical_forms(x: ArrayLike, y: ArrayLike, forms: Iterable[str]) -> dict[str, float]:
    """Compute several forms as `canonical` does, from one decomposition of each space.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> y = np.array([[3.0, 1.0], [1.0, 2.0], [2.0, 2.0], [0.0, 1.0]])
        >>> {form: round(value, 2) for form, value in canonical_forms(x, y, ("cca",
        ...     "pwcca")).items()}
        {'cca': 0.54, 'pwcca': 0.59}
    """
    whole = tuple(_space(space) for space in check_pair(x, y))
    if not all(space.scale.size for space in whole):
        return dict.fromkeys(forms, float("nan"))
    values = {}
    for form in forms:
        first, second = (_leading(space, form) for space in whole)
        values[form] = _summarise(first.basis.T @ second.basis, first.neurons, form)
    return values


def canonical_null(x: ArrayLike, y: ArrayLike, permutations: IntArray, form: str) -> FloatArray:
    """Compute the measure with the items shuffled, shape (draw,); the bases are computed once.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors, shape (item, another d_model).
        permutations: Orders of the second space's items, shape (draw, item).
        form: "cca", "svcca" or "pwcca".

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> canonical_null(x, x, np.array([[0, 1, 2, 3], [1, 0, 3, 2]]), "cca").round(2).tolist()
        [1.0, 0.97]
    """
    first, second = (_leading(_space(space), form) for space in check_pair(x, y))
    if not first.scale.size or not second.scale.size:
        return np.full(len(permutations), np.nan)
    return np.array(
        [
            _summarise(first.basis.T @ second.basis[order], first.neurons, form)
            for order in permutations
        ]
    )


def canonical_jackknife(
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    groups: int,
    rng: np.random.Generator,
    form: str,
) -> FloatArray:
    """Compute the measure with each group of sentences left out, shape (group,).

    A bootstrap is biased here: a draw holds 63 % of the items, and canonical correlations grow as
    items get fewer. In the orthonormal bases of all items the covariances without a group are close
    to the identity, so each replicate is a well conditioned Cholesky factor and one small SVD.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(12, 2))
        >>> canonical_jackknife(x, 2 * x, np.arange(12), 3, np.random.default_rng(0),
        ...     "cca").round(2).tolist()
        [1.0, 1.0, 1.0]
    """
    first, second = (_space(space) for space in check_pair(x, y))
    if not first.scale.size or not second.scale.size:
        return np.full(groups, np.nan)
    cross = first.basis.T @ second.basis
    replicates = []
    for remaining in jackknife_sentences(sentence, groups, rng):
        a, b = (np.delete(space.basis, remaining, axis=0) for space in (first, second))
        total_a, total_b = a.sum(axis=0), b.sum(axis=0)
        inner = cross - a.T @ b - np.outer(total_a, total_b) / len(remaining)
        covariance_a = _covariance(a, total_a, len(remaining))
        covariance_b = _covariance(b, total_b, len(remaining))
        if form == "svcca":
            mine, theirs = _whitener(covariance_a, first), _whitener(covariance_b, second)
            replicates.append(_summarise(mine.T @ inner @ theirs, first.neurons, form))
            continue
        root_a, root_b = _root(covariance_a), _root(covariance_b)
        if root_a is None or root_b is None:
            replicates.append(
                canonical(
                    first.basis[remaining] @ first.neurons,
                    second.basis[remaining] * second.scale,
                    form,
                )
            )
            continue
        whitened = np.linalg.solve(root_b, np.linalg.solve(root_a, inner).T).T
        replicates.append(_summarise(whitened, root_a.T @ first.neurons, form))
    return np.array(replicates)


def _space(x: FloatArray) -> Basis:
    """Compute a basis of the centred space's directions."""
    basis, scale, axes = np.linalg.svd(centred(x), full_matrices=False)
    rank = int(np.count_nonzero(scale > RANK * float(scale[0])))
    return Basis(basis[:, :rank], scale[:rank], scale[:rank, None] * axes[:rank])


def _leading(space: Basis, form: str) -> Basis:
    """Keep what a form compares: for SVCCA, the first directions that hold its variance."""
    if form != "svcca" or not space.scale.size:
        return space
    rank = _holding(space.scale**2)
    return Basis(space.basis[:, :rank], space.scale[:rank], space.neurons[:rank])


def _holding(variances: FloatArray) -> int:
    """Count the first directions that hold SVCCA's share of the variance; largest first."""
    held = np.cumsum(variances)
    return int(np.searchsorted(held, SVCCA_VARIANCE * held[-1] * (1.0 - 1e-12))) + 1


def _summarise(inner: FloatArray, neurons: FloatArray, form: str) -> float:
    """Average the correlations of two orthonormal bases; `neurons` are X's columns in the first
    one."""
    if form != "pwcca":
        correlations = np.linalg.svd(inner, compute_uv=False)
        return float(np.minimum(correlations, 1.0).mean())
    left, correlations, _ = np.linalg.svd(inner, full_matrices=False)
    return float(
        np.average(np.minimum(correlations, 1.0), weights=projection_weights(left.T @ neurons))
    )


def _covariance(left_out: FloatArray, total: FloatArray, items: int) -> FloatArray:
    """Compute the kept items' scatter in the basis of all, centred; `total` sums the others'."""
    means = np.outer(total, total) / items
    return np.asarray(np.eye(left_out.shape[1]) - left_out.T @ left_out - means)


def _root(covariance: FloatArray) -> FloatArray | None:
    """Factor a covariance (Cholesky); None where the items no longer span the basis."""
    try:
        root: FloatArray = np.linalg.cholesky(covariance).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    return root if np.diag(root).min() > DEGENERATE else None


def _whitener(covariance: FloatArray, space: Basis) -> FloatArray:
    """Map the basis to orthonormal variables: the directions that hold SVCCA's variance of the kept
    items, (rank, direction)."""
    held, axes = np.linalg.eigh(space.scale[:, None] * covariance * space.scale)
    held, axes = held[::-1], axes[:, ::-1]
    leading = _holding(held)
    return np.asarray(space.scale[:, None] * axes[:, :leading] / np.sqrt(held[:leading]))
