"""Linear centred kernel alignment, biased as published and debiased.

CKA(X, Y) = HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) with K = X X^T and L = Y Y^T. The biased form
grows with d / n for unrelated spaces; the debiased one uses the unbiased estimate of HSIC and is
near 0 for them. Both are computed from d x d matrices when d < n.

References:
    Kornblith et al. 2019, ICML, Similarity of Neural Network Representations Revisited (linear
    CKA). Song et al. 2012, JMLR, Feature Selection via Dependence Maximization, eq. 5 (unbiased
    HSIC). Nguyen, Raghu & Kornblith 2021, ICLR (debiased CKA, here on all items at once and not
    averaged over minibatches).
Deviations: none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.maths.similarity.kernels import FloatArray, IntArray, Strip, pair_totals
from core.maths.similarity.preparing import centred, check_pair, product_norm, unit_norm
from core.maths.statistics import jackknife_groups, sum_by_group


def linear_cka(x: ArrayLike, y: ArrayLike) -> float:
    """Compute linear CKA (biased), in [0, 1]; NaN for a constant space.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> turned = x @ np.array([[0.0, -1.0], [1.0, 0.0]])
        >>> round(linear_cka(x, turned), 2)
        1.0
        >>> round(linear_cka(x, x[[1, 0, 3, 2]]), 2)
        0.68
    """
    first, second = _centred(*check_pair(x, y))
    return _ratio(
        product_norm(first, second), product_norm(first, first), product_norm(second, second)
    )


def debiased_cka(x: ArrayLike, y: ArrayLike) -> float:
    """Compute debiased linear CKA, at most 1, about 0 for unrelated spaces; NaN if an HSIC is not
    positive.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).

    Raises:
        ShapeError: If the shapes do not fit, a value is not finite, or there are fewer than 4
            items.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> round(debiased_cka(x, 3 * x), 2)
        1.0
    """
    first, second = _centred(*check_pair(x, y, least=4))
    return _ratio(_unbiased(first, second), _unbiased(first, first), _unbiased(second, second))


def cka_null(x: ArrayLike, y: ArrayLike, permutations: IntArray, debiased: bool) -> FloatArray:
    """Compute CKA with the items shuffled, shape (draw,).

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors, shape (item, another d_model).
        permutations: Orders of the second space's items, shape (draw, item).
        debiased: Which form.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> cka_null(x, x, np.array([[0, 1, 2, 3], [1, 0, 3, 2]]), False).round(2).tolist()
        [1.0, 0.68]
    """
    first, second = _centred(*check_pair(x, y, least=4))
    hsic = _unbiased if debiased else product_norm
    norms = hsic(first, first), hsic(second, second)
    return np.array([_ratio(hsic(first, second[order], True), *norms) for order in permutations])


def cka_jackknife(
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    groups: int,
    rng: np.random.Generator,
    debiased: bool,
) -> FloatArray:
    """Compute CKA with each group of sentences left out, from one pass over the pairs.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        sentence: Sentence of each item, shape (item,).
        groups: Number of groups, at most.
        rng: Assigns sentences to groups.
        debiased: Which form.

    Returns:
        CKA without each group, shape (group,).

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> cka_jackknife(x, -x, np.arange(4), 2, np.random.default_rng(0),
        ...     False).round(2).tolist()
        [1.0, 1.0]
    """
    first, second = _centred(*check_pair(x, y, least=4))
    group, number = jackknife_groups(sentence, groups, rng)
    order = np.argsort(group, kind="stable")
    spaces, group = (first[order], second[order]), group[order]
    sizes, held = np.bincount(group).astype(np.int64), 1.0 - np.eye(number)
    first, second = spaces
    totals = pair_totals(_strips(first), _strips(second), sizes, held, products_only=True)
    stays, items = held[:, group].T, held @ sizes
    squares = [np.einsum("id,id->i", space, space)[:, None] for space in spaces]
    rows = [  # sums of an item's kernel values with all items that stay
        space @ (held @ sum_by_group(space, group, number, axis=0)).T for space in spaces
    ]
    if debiased:
        rows = [row - square for row, square in zip(rows, squares, strict=True)]
    grand = [(stays * row).sum(axis=0) for row in rows]

    def hsic(a: int, b: int, total: FloatArray) -> FloatArray:
        shared = (stays * rows[a] * rows[b]).sum(axis=0)
        if debiased:
            whole = grand[a] * grand[b] / ((items - 1.0) * (items - 2.0))
            return np.asarray(total + whole - 2.0 * shared / (items - 2.0))
        diagonal = (stays * squares[a] * squares[b]).sum(axis=0)
        whole = grand[a] * grand[b] / items**2
        return np.asarray(total + diagonal + whole - 2.0 * shared / items)

    with np.errstate(invalid="ignore", divide="ignore"):
        own_x, own_y = hsic(0, 0, totals.kk), hsic(1, 1, totals.ll)
        ratio = hsic(0, 1, totals.kl) / np.sqrt(own_x * own_y)
    enough = items > 3 if debiased else items > 1
    return np.where(enough & (own_x > 0) & (own_y > 0), ratio, np.nan)


def _centred(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre both spaces and scale them to unit norm, which reduces rounding and leaves CKA
    unchanged."""
    return unit_norm(centred(x)), unit_norm(centred(y))


def _ratio(cross: float, own_x: float, own_y: float) -> float:
    """Divide HSIC by the geometric mean of both spaces' own HSIC."""
    return cross / float(np.sqrt(own_x * own_y)) if own_x > 0 and own_y > 0 else float("nan")


def _unbiased(x: FloatArray, y: FloatArray, single: bool | None = None) -> float:
    """Estimate HSIC without bias, times n (n - 3), for centred features.

    Centred rows of a Gram matrix sum to 0, so with the diagonal taken out they sum to minus the
    diagonal, and all terms of Song et al. follow from |X^T Y|^2 and the two diagonals.
    """
    items = len(x)
    diagonal_x, diagonal_y = np.einsum("id,id->i", x, x), np.einsum("id,id->i", y, y)
    diagonals = float(diagonal_x @ diagonal_y)
    whole = float(diagonal_x.sum() * diagonal_y.sum()) / ((items - 1) * (items - 2))
    return product_norm(x, y, single) - diagonals + whole - 2.0 * diagonals / (items - 2)


def _strips(x: FloatArray) -> Strip:
    """Make strips of the linear kernel."""
    return lambda start, stop: x[start:stop] @ x[start:].T
