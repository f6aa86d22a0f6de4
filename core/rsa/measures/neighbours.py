"""Mutual k-nearest neighbours: which items are closest to an item, and in both spaces?

A similarity of whole geometries such as RSA is dominated by large differences between items; the
share of common neighbours only asks for the closest ones. Its chance level is k / (n - 1) for n
items, so it falls as items are added, unlike RSA.

Neighbours are those of highest cosine. Each space's are found once, in blocks of rows: the null
renumbers them, and the jackknife keeps as many more of them as a group of items can take away.

Reference:
    Huh et al. 2024, ICML, The Platonic Representation Hypothesis (mutual nearest-neighbor metric).
Deviations: vectors are compared as they are, without truncating outliers first. Neighbours that are
equally close (a repeated word has one vector in layer 0) are taken in the order of the items, the
same in both spaces, so that equal spaces score 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.rsa.measures.kernels import BLOCK, FloatArray, IntArray, gram_rows
from core.rsa.measures.preparing import centred, check_pair
from core.statistics import jackknife_sentences

NEIGHBOURS = 10  # k of the paper
TIED = 1e-11  # cosines that differ by less, which is by rounding, count as equal
LEAST = NEIGHBOURS + 2  # items; with one fewer, all are neighbours of all


def mutual_neighbours(x: ArrayLike, y: ArrayLike) -> float:
    """Compute the mean share of an item's 10 nearest neighbours that both spaces have in common.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).

    Returns:
        A share in [0, 1]; NaN where all vectors of one space have one direction.

    Raises:
        ShapeError: If the shapes do not fit, a value is not finite, or there are fewer than 12
            items.

    Example:
        >>> angles = np.linspace(0.0, 3.0, 31)
        >>> x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        >>> round(mutual_neighbours(x, 2 * x), 2)
        1.0
        >>> round(mutual_neighbours(x, np.roll(x, 3, axis=0)), 2)
        0.85
    """
    first, second = check_pair(x, y, LEAST)
    near_x, near_y = _nearest(first, NEIGHBOURS), _nearest(second, NEIGHBOURS)
    if near_x is None or near_y is None:
        return float("nan")
    return _overlap(near_x, near_y)


def mutual_neighbours_null(x: ArrayLike, y: ArrayLike, permutations: IntArray) -> FloatArray:
    """Compute the share of common neighbours with the items shuffled, shape (draw,).

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors, shape (item, another d_model).
        permutations: Orders of the second space's items, shape (draw, item).

    Example:
        >>> x = np.random.default_rng(0).normal(size=(40, 2))
        >>> orders = np.array([np.arange(40), np.roll(np.arange(40), 1)])
        >>> mutual_neighbours_null(x, x, orders).round(1).tolist()
        [1.0, 0.3]
    """
    first, second = check_pair(x, y, LEAST)
    near_x, near_y = _nearest(first, NEIGHBOURS), _nearest(second, NEIGHBOURS)
    if near_x is None or near_y is None:
        return np.full(len(permutations), np.nan)
    return np.array([_overlap(near_x, np.argsort(order)[near_y[order]]) for order in permutations])


def mutual_neighbours_jackknife(
    x: ArrayLike, y: ArrayLike, sentence: ArrayLike, groups: int, rng: np.random.Generator
) -> FloatArray:
    """Compute the share of common neighbours with each group of sentences left out, shape (group,).

    A bootstrap would be biased upward: an item's own copies are its nearest neighbours in every
    space. A replicate is NaN if it leaves fewer than 12 items.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(40, 2))
        >>> mutual_neighbours_jackknife(x, 2 * x, np.arange(40), 2,
        ...     np.random.default_rng(0)).round(2).tolist()
        [1.0, 1.0]
    """
    first, second = check_pair(x, y, LEAST)
    remaining = list(jackknife_sentences(sentence, groups, rng))
    most = NEIGHBOURS + len(first) - min(map(len, remaining))
    near_x, near_y = _nearest(first, most), _nearest(second, most)
    if near_x is None or near_y is None:
        return np.full(len(remaining), np.nan)
    replicates = []
    for kept in remaining:
        if len(kept) < LEAST:
            replicates.append(float("nan"))
            continue
        stays = np.zeros(len(first), dtype=bool)
        stays[kept] = True
        replicates.append(_overlap(_first_of(near_x[kept], stays), _first_of(near_y[kept], stays)))
    return np.array(replicates)


def _nearest(vectors: FloatArray, count: int) -> IntArray | None:
    """List the items closest to each, closest first, shape (item, neighbour); None where all
    vectors have one direction.

    Cosines become whole numbers with the item's own number as their last digits, so that no two are
    equal and the choice does not depend on how a block was multiplied.
    """
    rows = gram_rows(vectors, "cosine")
    assert rows is not None
    if not centred(rows).any():
        return None
    items = len(rows)
    count = min(count, items - 1)
    nearest = np.empty((items, count), dtype=np.int64)
    for start in range(0, items, BLOCK):
        block = rows[start : start + BLOCK] @ rows.T
        places = np.rint(block / -TIED).astype(np.int64) * items + np.arange(items)
        itself = np.arange(len(block))
        places[itself, start + itself] = np.iinfo(np.int64).max
        closest = np.argpartition(places, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(places, closest, axis=1), axis=1)
        nearest[start : start + BLOCK] = np.take_along_axis(closest, order, axis=1)
    return nearest


def _first_of(nearest: IntArray, stays: NDArray[np.bool_]) -> IntArray:
    """Take each item's first neighbours among those that stay, shape (item, k)."""
    there = stays[nearest]
    taken = there & (np.cumsum(there, axis=1) <= NEIGHBOURS)
    return nearest[taken].reshape(len(nearest), NEIGHBOURS)


def _overlap(first: IntArray, second: IntArray) -> float:
    """Compute the share of neighbours in common; both of shape (item, k)."""
    common = sum(
        np.count_nonzero(
            first[start : start + BLOCK, :, None] == second[start : start + BLOCK, None, :]
        )
        for start in range(0, len(first), BLOCK)
    )
    return float(common / first.size)
