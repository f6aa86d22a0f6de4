"""Representational similarity analysis: are the same pairs of items similar in two spaces?

Each space has a matrix of similarities over pairs of items; RSA is the correlation of the two upper
triangles.

References:
    Merchant et al. 2020, BlackboxNLP, What Happens To BERT Embeddings During Fine-tuning? (cosine,
    Pearson). Kriegeskorte et al. 2008. Schütt et al. 2023, eLife (rho-a).
Deviations: for cosine and correlation kernels the correlation is computed in feature space (sums
over pairs of inner products are norms of d x d matrices), which is exact and needs no matrix over
items. The jackknife of rank comparisons keeps the ranks of the full sample: an approximation, since
leaving items out changes ranks a little.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import SpecError
from core.maths.similarity.kernels import (
    BLOCK,
    FloatArray,
    IntArray,
    Strip,
    gram_rows,
    matrix_strips,
    pair_totals,
    similarity_matrix,
    strips,
)
from core.maths.similarity.preparing import SingleArray, check_pair, product_norm
from core.maths.statistics import jackknife_groups

COMPARISONS = {
    "pearson": "Pearson correlation of the upper triangles",
    "spearman": "Spearman rank correlation of the upper triangles",
    "rho-a": "rho-a: Spearman with ties broken at random, on average",
}
TIED = 1e-11  # similarities that differ by less, as a share of the largest, count as equal
# a matrix whose variance is below this share of its mean square (of 1, for cosines) counts as
# constant
FLAT = 1e-28


def rsa(x: ArrayLike, y: ArrayLike, kernel: str = "cosine", comparison: str = "pearson") -> float:
    """Compute the representational similarity of two spaces over the same items.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        kernel: One of `KERNELS`.
        comparison: One of `COMPARISONS`.

    Returns:
        A correlation in [-1, 1]; NaN where one matrix does not vary.

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.
        SpecError: If kernel or comparison is unknown.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> turned = x @ np.array([[0.0, -1.0], [1.0, 0.0]])
        >>> round(rsa(x, turned), 2)
        1.0
        >>> round(rsa(x, x[[1, 0, 3, 2]]), 2)
        0.97
        >>> round(rsa(x, x ** 3, "euclidean", "spearman"), 2)
        0.97
    """
    first, second = check_pair(x, y)
    rows_x, rows_y = gram_rows(first, kernel), gram_rows(second, kernel)
    narrow = max(first.shape[1], second.shape[1]) <= len(first)
    if narrow and comparison == "pearson" and rows_x is not None and rows_y is not None:
        gram_x, gram_y = _Gram.of(rows_x), _Gram.of(rows_y)
        variances = _gram_covariance(gram_x, gram_x), _gram_covariance(gram_y, gram_y)
        return _gram_correlation(gram_x, gram_y, variances)
    sizes = np.ones(len(first), dtype=np.int64)
    return float(_of_subsets(first, second, sizes, np.ones((1, len(first))), kernel, comparison)[0])


def rsa_jackknife(
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    groups: int,
    rng: np.random.Generator,
    kernel: str,
    comparison: str,
) -> FloatArray:
    """Compute RSA with each group of sentences left out, from one pass over the pairs.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        sentence: Sentence of each item, shape (item,).
        groups: Number of groups, at most.
        rng: Assigns sentences to groups.
        kernel: One of `KERNELS`.
        comparison: One of `COMPARISONS`; ranks are those of the full sample.

    Returns:
        RSA without each group, shape (group,).

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0], [1.0, 1.0]])
        >>> rsa_jackknife(x, -x, np.arange(5), 2, np.random.default_rng(0), "cosine",
        ...     "pearson").round(2).tolist()
        [nan, 1.0]
    """
    first, second = check_pair(x, y)
    group, number = jackknife_groups(sentence, groups, rng)
    order = np.argsort(group, kind="stable")
    sizes, held = np.bincount(group).astype(np.int64), 1.0 - np.eye(number)
    return _of_subsets(first[order], second[order], sizes, held, kernel, comparison)


def rsa_null(
    x: ArrayLike, y: ArrayLike, permutations: IntArray, kernel: str, comparison: str
) -> FloatArray:
    """Compute RSA with the items shuffled: what unrelated spaces with these two spectra score.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors, shape (item, another d_model).
        permutations: Orders of the second space's items, shape (draw, item).
        kernel: One of `KERNELS`.
        comparison: One of `COMPARISONS`.

    Returns:
        RSA of each permutation, shape (draw,). Euclidean and rank comparisons hold both matrices in
        memory.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0]])
        >>> rsa_null(x, x, np.array([[0, 1, 2, 3], [1, 0, 3, 2]]), "cosine",
        ...     "pearson").round(2).tolist()
        [1.0, 0.97]
    """
    first, second = check_pair(x, y)
    rows_x, rows_y = gram_rows(first, kernel), gram_rows(second, kernel)
    if comparison == "pearson" and rows_x is not None and rows_y is not None:
        gram_x, gram_y = _Gram.of(rows_x), _Gram.of(rows_y)
        variances = _gram_covariance(gram_x, gram_x), _gram_covariance(gram_y, gram_y)
        gram_x, gram_y = gram_x.single(), gram_y.single()  # once, not for every permutation
        return np.array(
            [
                _gram_correlation(gram_x, gram_y.reordered(order), variances, True)
                for order in permutations
            ]
        )
    k, l = _matrices(first, second, kernel, comparison)  # noqa: E741
    items = len(k)
    pairs = items * (items - 1)
    k -= _pairs(k).mean()
    l -= _pairs(l).mean()  # noqa: E741
    np.fill_diagonal(k, 0.0)
    np.fill_diagonal(l, 0.0)
    products = np.array([_permuted_product(k, l, order) for order in permutations])
    return _correlate(
        products / pairs, np.sum(k * k) / pairs, np.sum(l * l) / pairs, items, comparison
    )


def paired_strips(
    x: FloatArray, y: FloatArray, kernel: str, comparison: str
) -> tuple[Strip, Strip]:
    """Make strips of both similarity matrices, or of their ranks for a rank comparison.

    Example:
        >>> x = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]])
        >>> [strip(0, 1).tolist() for strip in paired_strips(x, x[::-1], "cosine", "spearman")]
        [[[0.0, 2.0, 1.0]], [[0.0, 3.0, 1.0]]]
    """
    if comparison == "pearson":
        return strips(x, kernel), strips(y, kernel)
    k, l = _matrices(x, y, kernel, comparison)  # noqa: E741
    return matrix_strips(k), matrix_strips(l)


def _of_subsets(
    x: FloatArray, y: FloatArray, sizes: IntArray, held: FloatArray, kernel: str, comparison: str
) -> FloatArray:
    """Compute RSA of subsets of groups, items of a group next to each other, shape (subset,)."""
    totals = pair_totals(*paired_strips(x, y, kernel, comparison), sizes, held)
    items = held @ sizes
    pairs = items * (items - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean_k, mean_l = totals.k / pairs, totals.l / pairs
        covariance = totals.kl / pairs - mean_k * mean_l
        variance_k, variance_l = totals.kk / pairs - mean_k**2, totals.ll / pairs - mean_l**2
    variance_k = np.where(variance_k > FLAT * (totals.shift[0] + mean_k) ** 2, variance_k, np.nan)
    variance_l = np.where(variance_l > FLAT * (totals.shift[1] + mean_l) ** 2, variance_l, np.nan)
    return _correlate(covariance, variance_k, variance_l, len(x), comparison)


def _matrices(
    x: FloatArray, y: FloatArray, kernel: str, comparison: str
) -> tuple[FloatArray, FloatArray]:
    """Compute both matrices; for rank comparisons their upper triangles are ranks."""
    if comparison not in COMPARISONS:
        raise SpecError(
            f"There is no comparison {comparison!r}: choose one of {', '.join(COMPARISONS)}."
        )
    k, l = similarity_matrix(x, kernel), similarity_matrix(y, kernel)  # noqa: E741
    if comparison == "pearson":
        return k, l
    return _ranks(k), _ranks(l)


def _pairs(matrix: FloatArray) -> FloatArray:
    """List the entries above the diagonal, row by row."""
    from scipy.spatial.distance import squareform

    return np.asarray(squareform(matrix, checks=False))


def _ranks(matrix: FloatArray) -> FloatArray:
    """Rank the similarities above the diagonal; those that differ only by rounding are tied.

    A repeated word has the same vector in layer 0, and its similarities to a third word are equal
    except for the order in which a product was added up.
    """
    from scipy.spatial.distance import squareform
    from scipy.stats import rankdata

    values = _pairs(matrix)
    largest = float(np.abs(values).max(initial=0.0))
    ranks = rankdata(np.round(values / (TIED * largest)) if largest > 0 else values)
    return np.asarray(squareform(ranks))


def _correlate(
    covariance: FloatArray,
    variance_k: FloatArray | float,
    variance_l: FloatArray | float,
    items: int,
    comparison: str,
) -> FloatArray:
    """Compute the correlation from moments; rho-a divides by the variance of ranks without ties."""
    if comparison == "rho-a":
        pairs = items * (items - 1) / 2.0
        flat = np.isnan(variance_k) | np.isnan(variance_l)
        return np.where(flat, np.nan, 12.0 * covariance / (pairs**2 - 1.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(covariance / np.sqrt(variance_k * variance_l))


@dataclass(frozen=True)
class _Gram:
    """A Gram matrix K in feature space, minus the squared length of the mean row: K_ij = c_i c_j +
    a_i + a_j.

    Subtracting the mean row first keeps every sum well conditioned when all vectors point nearly
    the same way.
    """

    centred: FloatArray | SingleArray  # c, rows minus their mean, (item, d_model)
    offset: FloatArray  # a, inner product of c with the mean row, (item,); sums to 0, as c does
    diagonal: FloatArray  # K_ii, (item,)

    @classmethod
    def of(cls, rows: FloatArray) -> _Gram:
        mean = rows.mean(axis=0)
        centred = rows - mean
        offset = centred @ mean
        return cls(centred, offset, np.einsum("id,id->i", centred, centred) + 2.0 * offset)

    def single(self) -> _Gram:
        return _Gram(self.centred.astype(np.float32), self.offset, self.diagonal)

    def reordered(self, order: IntArray) -> _Gram:
        return _Gram(self.centred[order], self.offset[order], self.diagonal[order])


def _gram_correlation(
    x: _Gram, y: _Gram, variances: tuple[float, float], single: bool | None = None
) -> float:
    """Correlate the off-diagonals of two Gram matrices (Pearson), given both variances."""
    variance_x, variance_y = variances
    if min(variance_x, variance_y) <= FLAT:
        return float("nan")
    return _gram_covariance(x, y, single) / float(np.sqrt(variance_x * variance_y))


def _gram_covariance(x: _Gram, y: _Gram, single: bool | None = None) -> float:
    """Compute the covariance over ordered pairs of different items; terms linear in c or a sum to
    0."""
    items = len(x.offset)
    pairs = items * (items - 1)
    total = product_norm(x.centred, y.centred, single) + 2.0 * items * float(x.offset @ y.offset)
    total -= float(x.diagonal @ y.diagonal)
    return total / pairs - float(x.diagonal.sum() * y.diagonal.sum()) / pairs**2


def _permuted_product(k: FloatArray, l: NDArray[np.float64], order: IntArray) -> float:  # noqa: E741
    """Sum k_ij * l_order(i)order(j), a strip at a time."""
    return float(
        sum(
            np.vdot(k[start : start + BLOCK], l[order[start : start + BLOCK]][:, order])
            for start in range(0, len(k), BLOCK)
        )
    )
