"""Kernels over items, in blocks, and their totals over pairs of groups of items.

A similarity matrix over n items is never needed whole: a measure needs sums over its pairs.
`pair_totals` takes the matrices of two spaces a strip of rows at a time, adds every strip up to one
number for each pair of groups of items, and adds up those of the groups that a subset holds. One
pass serves every subset, such as all but one group.

Subsets hold an item once or not at all. A bootstrap, which repeats whole sentences, would count the
pairs within a sentence once for each pair of its copies; where words of one sentence are alike, as
in models that read context, its draws lie far above the estimate.

References:
    Kriegeskorte et al. 2008, Frontiers in Systems Neuroscience (similarity matrices, upper
    triangle).
Deviations: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from core.errors import SpecError
from core.maths.similarity.preparing import centred

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Strip = Callable[
    [int, int], FloatArray
]  # (start, stop) -> matrix[start:stop, start:], a fresh array

# squared distance, as a share of both squared lengths, below which two vectors count as equal
EQUAL_SHARE = 1e-14
BLOCK = 512  # rows of a strip: 512 x 5000 float64 are 20 MB
KERNELS = {
    "cosine": "cosine of the two vectors",
    "correlation": "Pearson correlation of the two vectors over dimensions",
    "euclidean": "minus the Euclidean distance of the two vectors",
}
QUANTITIES = ("k", "l", "kl", "kk", "ll")


@dataclass(frozen=True)
class PairTotals:
    """Sums over ordered pairs of different items of a subset, each of shape (subset,).

    `k` and `l` stand for the two matrices, each minus a constant (`shift`) that keeps the sums well
    conditioned. A sum that was not asked for is 0.
    """

    k: FloatArray
    l: FloatArray  # noqa: E741
    kl: FloatArray
    kk: FloatArray
    ll: FloatArray
    shift: tuple[float, float]


def unit_rows(vectors: FloatArray, *, centre: bool = False) -> FloatArray:
    """Scale each vector to length 1, with `centre` after subtracting the mean over its dimensions.

    A vector of zeros (with `centre`, a constant one) has no direction and becomes 0.

    Example:
        >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
        [[0.6, 0.8], [0.0, 0.0]]
    """
    rows = vectors - vectors.mean(axis=1, keepdims=True) if centre else vectors
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    floor = 1e-13 * np.linalg.norm(vectors, axis=1, keepdims=True)
    return cast("FloatArray", np.divide(rows, norms, out=np.zeros_like(rows), where=norms > floor))


def gram_rows(vectors: FloatArray, kernel: str) -> FloatArray | None:
    """Compute rows whose inner products are the kernel, shape (item, d_model); None for Euclidean.

    A vector without a direction has a similarity of 0 to everything.

    Raises:
        SpecError: If the kernel is unknown; the message names all kernels.

    Example:
        >>> gram_rows(np.array([[3.0, 4.0]]), "cosine").tolist()
        [[0.6, 0.8]]
        >>> gram_rows(np.array([[3.0, 4.0]]), "cubic")  # doctest: +NORMALIZE_WHITESPACE
        Traceback (most recent call last):
            ...
        core.errors.SpecError: There is no kernel 'cubic': choose one of cosine, correlation,
            euclidean.
    """
    if kernel not in KERNELS:
        raise SpecError(f"There is no kernel {kernel!r}: choose one of {', '.join(KERNELS)}.")
    return None if kernel == "euclidean" else unit_rows(vectors, centre=kernel == "correlation")


def strips(vectors: FloatArray, kernel: str) -> Strip:
    """Make a function that computes rows start to stop of the kernel's matrix, from column start
    on.

    Example:
        >>> strips(np.array([[1.0, 0.0], [3.0, 4.0]]), "cosine")(0, 1).round(2).tolist()
        [[1.0, 0.6]]
    """
    rows = gram_rows(vectors, kernel)
    if rows is not None:
        return lambda start, stop: rows[start:stop] @ rows[start:].T
    points = centred(vectors)  # leaves distances alone and keeps the differences of squares exact
    squares = np.einsum("id,id->i", points, points)

    def distances(start: int, stop: int) -> FloatArray:
        block = points[start:stop] @ points[start:].T
        block *= -2.0
        block += squares[start:stop, None]
        block += squares[None, start:]
        block[block <= EQUAL_SHARE * (squares[start:stop, None] + squares[None, start:])] = 0.0
        return -np.sqrt(block)

    return distances


def similarity_matrix(vectors: FloatArray, kernel: str) -> FloatArray:
    """Compute the whole matrix, shape (item, item), for rank comparisons, which need every pair at
    once.

    Example:
        >>> similarity_matrix(np.array([[1.0, 0.0], [3.0, 4.0]]), "cosine").round(2).tolist()
        [[1.0, 0.6], [0.6, 1.0]]
    """
    return strips(vectors, kernel)(0, len(vectors))


def matrix_strips(matrix: FloatArray) -> Strip:
    """Make strips of a matrix that is in memory.

    Example:
        >>> matrix_strips(np.eye(3))(1, 2).tolist()
        [[1.0, 0.0]]
    """
    return lambda start, stop: matrix[start:stop, start:].copy()


def pair_totals(
    first: Strip,
    second: Strip,
    sizes: IntArray,
    held: FloatArray,
    *,
    products_only: bool = False,
) -> PairTotals:
    """Sum k, l, kl, kk and ll over ordered pairs of different items, for every subset of groups.

    Args:
        first: Strips of the first matrix (symmetric), items of one group next to each other.
        second: Strips of the second.
        sizes: Items of each group, in order, shape (group,).
        held: 1 for each group that a subset holds, else 0, shape (subset, group).
        products_only: Whether to leave out the sums of k and l, and to subtract nothing.

    Returns:
        Totals of shape (subset,), of matrices minus a constant each, which does not affect a
        Pearson correlation.

    Example:
        >>> matrix = strips(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), "cosine")
        >>> pair_totals(matrix, matrix, np.array([1, 1, 1]), np.array([[1.0, 1.0,
        ...     1.0]])).k.round(2).tolist()
        [-1.11]
    """
    sample = min(int(sizes.sum()), BLOCK // 2)
    shift = (0.0, 0.0)
    if not products_only:
        shift = float(first(0, sample).mean()), float(second(0, sample).mean())
    starts = np.concatenate([[0], np.cumsum(sizes)])
    totals = {name: np.zeros(len(held)) for name in QUANTITIES}
    for begin, end in _group_blocks(sizes):
        k, l = first(starts[begin], starts[end]), second(starts[begin], starts[end])  # noqa: E741
        k -= shift[0]
        l -= shift[1]  # noqa: E741
        np.fill_diagonal(k, 0.0)
        np.fill_diagonal(l, 0.0)
        rows, columns = starts[begin:end] - starts[begin], starts[begin:-1] - starts[begin]
        factors = {"k": (k,), "l": (l,), "kl": (k, l), "kk": (k, k), "ll": (l, l)}
        for name in QUANTITIES[2:] if products_only else QUANTITIES:
            sums = _sum_by_group(
                np.multiply(*pair) if len(pair := factors[name]) == 2 else pair[0], rows, columns
            )
            totals[name] += _quadratic(sums, held, begin, end)
    return PairTotals(**totals, shift=shift)


def _group_blocks(sizes: IntArray) -> Iterator[tuple[int, int]]:
    """Cut the groups into blocks of about BLOCK items each."""
    begin, held = 0, 0
    for number, size in enumerate(sizes):
        if held and held + size > BLOCK:
            yield begin, number
            begin, held = number, 0
        held += int(size)
    yield begin, len(sizes)


def _sum_by_group(product: FloatArray, rows: IntArray, columns: IntArray) -> FloatArray:
    """Sum over the items of each pair of groups, shape (group in the strip, group from the strip
    on)."""
    if columns.size < product.shape[1]:
        product = np.add.reduceat(product, columns, axis=1)
    if rows.size < product.shape[0]:
        product = np.add.reduceat(product, rows, axis=0)
    return product


def _quadratic(sums: FloatArray, held: FloatArray, begin: int, end: int) -> FloatArray:
    """Sum over this strip's ordered pairs of groups that a subset holds, shape (subset,)."""
    width = end - begin
    forward = held[:, begin:end] @ sums
    within = np.einsum("ds,ds->d", forward[:, :width], held[:, begin:end])
    return cast(
        "FloatArray", within + 2.0 * np.einsum("ds,ds->d", forward[:, width:], held[:, end:])
    )
