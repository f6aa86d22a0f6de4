"""Linear centred kernel alignment, biased as published and debiased.

CKA(X, Y) = HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) with K = X X^T and L = Y Y^T. The biased form
grows with d / n for unrelated spaces; the debiased one uses the unbiased estimate of HSIC and is
near 0 for them. Both are computed from d x d matrices when d < n.

References:
    Kornblith et al. 2019, ICML, Similarity of Neural Network Representations Revisited (linear
    CKA). Song et al. 2012, JMLR, Feature Selection via Dependence Maximization, eq. 5 (unbiased
    HSIC). Nguyen, Raghu & Kornblith 2021, ICLR (debiased CKA, here on all items at once and not
    averaged over minibatches).
Deviations: under the bootstrap, pairs and larger tuples that hold an item and its own copy are
dropped, so resampling does not push the biased form up. The debiased form is then the U-statistic
over tuples of different items.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.rsa.measures.kernels import FloatArray, IntArray, Strip, product_totals
from core.rsa.measures.preparing import centred, check_pair, product_norm
from core.statistics import sentence_labels


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


def cka_draws(
    x: ArrayLike, y: ArrayLike, sentence: ArrayLike, counts: ArrayLike, debiased: bool
) -> FloatArray:
    """Compute CKA of every bootstrap draw, from one pass over the pairs.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        sentence: Sentence of each item, shape (item,).
        counts: How often each draw holds each sentence, shape (draw, sentence).
        debiased: Which form.

    Returns:
        CKA of each draw, shape (draw,).

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> counts = np.array([[1, 1, 1, 1], [2, 1, 1, 0]])
        >>> cka_draws(x, -x, np.arange(4), counts, False).round(2).tolist()
        [1.0, 1.0]
    """
    first, second = _centred(*check_pair(x, y, least=4))
    labels, _ = sentence_labels(sentence)
    order = np.argsort(labels, kind="stable")
    first, second, labels = first[order], second[order], labels[order]
    sizes = np.bincount(labels).astype(np.int64)
    weights = np.asarray(counts, dtype=np.float64)
    hsic = _unbiased_draws if debiased else _biased_draws
    with np.errstate(invalid="ignore", divide="ignore"):
        cross, own_x, own_y = hsic(first, second, labels, sizes, weights)
        return np.where((own_x > 0) & (own_y > 0), cross / np.sqrt(own_x * own_y), np.nan)


def _centred(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre both spaces and scale them to unit norm, which reduces rounding and leaves CKA
    unchanged."""
    return _unit(centred(x)), _unit(centred(y))


def _unit(x: FloatArray) -> FloatArray:
    norm = float(np.sqrt(np.vdot(x, x)))
    return np.divide(x, norm, out=x) if norm > 0 else x


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


def _weighted_rows(
    x: FloatArray, labels: IntArray, sizes: IntArray, counts: FloatArray
) -> FloatArray:
    """Sum w_j k_ij over j, i included, for every item and draw, shape (item, draw)."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.add.reduceat(x, starts, axis=0)
    return x @ (counts @ sums).T


def _biased_draws(
    x: FloatArray, y: FloatArray, labels: IntArray, sizes: IntArray, counts: FloatArray
) -> list[FloatArray]:
    """Compute HSIC(K, L), HSIC(K, K) and HSIC(L, L) of every draw, each of shape (draw,)."""
    totals = product_totals(_strips(x), _strips(y), sizes, counts, [(1, 1)])[0]
    rows = {
        "k": _weighted_rows(x, labels, sizes, counts),
        "l": _weighted_rows(y, labels, sizes, counts),
    }
    diagonal = {
        "k": np.einsum("id,id->i", x, x)[:, None],
        "l": np.einsum("id,id->i", y, y)[:, None],
    }
    weight = counts[:, labels].T
    size = counts @ sizes
    grand = {name: np.einsum("id,id->d", weight, rows[name]) for name in rows}
    # Kernel value of an item with itself after centring on the draw's own mean.
    centred = {
        name: diagonal[name] - 2.0 * rows[name] / size + grand[name] / size**2 for name in rows
    }
    values = []
    for left, right, total in (("k", "l", totals.kl), ("k", "k", totals.kk), ("l", "l", totals.ll)):
        everything = total + np.sum(weight**2 * diagonal[left] * diagonal[right], axis=0)
        middle = np.sum(weight * rows[left] * rows[right], axis=0)
        hsic = everything - 2.0 * middle / size + grand[left] * grand[right] / size**2
        copies = np.sum(weight * (weight - 1.0) * centred[left] * centred[right], axis=0)
        values.append(hsic - copies)
    return values


def _unbiased_draws(
    x: FloatArray, y: FloatArray, labels: IntArray, sizes: IntArray, counts: FloatArray
) -> list[FloatArray]:
    """Compute weighted U-statistics of HSIC over tuples of different items, each of shape (draw,).

    Sums over tuples of distinct indices follow from sums over all tuples by inclusion and
    exclusion. Under unequal weights this estimate moves a little (by about 1 / n) with the origin;
    the origin is the mean of all items.
    """
    first, second = _strips(x), _strips(y)
    pairs, mixed, squares = product_totals(first, second, sizes, counts, [(1, 1), (1, 2), (2, 2)])
    weight = counts[:, labels].T
    rows = {}
    for name, array in (("k", x), ("l", y)):
        rows[name] = (
            _weighted_rows(array, labels, sizes, counts)
            - weight * np.einsum("id,id->i", array, array)[:, None]
        )
    grand = {name: np.einsum("id,id->d", weight, rows[name]) for name in rows}
    p1, p2, p3, p4 = ((counts**power) @ sizes for power in (1, 2, 3, 4))
    count2 = p1**2 - p2
    count3 = p1**3 - 3.0 * p1 * p2 + 2.0 * p3
    count4 = p1**4 - 6.0 * p1**2 * p2 + 3.0 * p2**2 + 8.0 * p1 * p3 - 6.0 * p4
    values = []
    for left, right, name in (("k", "l", "kl"), ("k", "k", "kk"), ("l", "l", "ll")):
        product = rows[left] * rows[right]
        triples = np.sum(weight * product, axis=0) - getattr(mixed, name)
        shared = np.sum(weight**2 * product, axis=0)
        quadruples = grand[left] * grand[right] - 4.0 * shared + 2.0 * getattr(squares, name)
        values.append(getattr(pairs, name) / count2 - 2.0 * triples / count3 + quadruples / count4)
    return values
