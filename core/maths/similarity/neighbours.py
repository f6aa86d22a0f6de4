"""Mutual k-nearest neighbours: which items are closest to an item, and in both spaces?

A similarity of whole geometries such as RSA is dominated by large differences between items; the
share of common neighbours only asks for the closest ones. Its chance level is k / (n - 1) for n
items, so it falls as items are added, unlike RSA.

Neighbours are those of highest cosine. Items that are equally close (a repeated word has one vector
in layer 0) and of which only some have room among the k share that room equally: ten equally close
items for five places count one half each. Two spaces have in common the smaller of an item's two
counts, so that equal spaces score 1, and the order of the items has no effect. Each space's
neighbours are found once, in blocks of rows: the null renumbers them, and the jackknife keeps as
many more of them as a group of items can take away.

Reference:
    Huh et al. 2024, ICML, The Platonic Representation Hypothesis (mutual nearest-neighbor metric).
Deviations: vectors are not truncated at outliers first; ties are fractional.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import ShapeError
from core.maths.similarity.kernels import BLOCK, FloatArray, IntArray, unit_rows
from core.maths.similarity.preparing import centred, check_pair
from core.maths.statistics import jackknife_sentences

NEIGHBOURS = 10  # k of the paper
TIED = 1e-11  # cosines that differ by less, which is by rounding, count as equal
LEAST_ITEMS = NEIGHBOURS + 2  # items; with one fewer, all are neighbours of all
MOST_TIED = 30_000_000  # neighbours of a space that are held: 500 MB


def mutual_neighbours(x: ArrayLike, y: ArrayLike) -> float:
    """Compute the mean share of an item's 10 nearest neighbours that both spaces have in common.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).

    Returns:
        A share in [0, 1]; NaN where all vectors of one space have one direction.

    Raises:
        ShapeError: If the shapes do not fit, a value is not finite, there are fewer than 12 items,
            or so many are equally close that they cannot be held.

    Example:
        >>> angles = np.linspace(0.0, 3.0, 31)
        >>> x = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        >>> round(mutual_neighbours(x, 2 * x), 2)
        1.0
        >>> round(mutual_neighbours(x, np.roll(x, 3, axis=0)), 2)
        0.85
    """
    return float(mutual_neighbours_null(x, y, np.arange(len(np.asarray(x)))[None])[0])


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
    first, second = check_pair(x, y, LEAST_ITEMS)
    near_x, near_y = _nearest(first, NEIGHBOURS), _nearest(second, NEIGHBOURS)
    if near_x is None or near_y is None:
        return np.full(len(permutations), np.nan)
    everything = np.ones(len(first), dtype=bool)
    shares_x, shares_y = near_x.shares(everything), near_y.shares(everything)
    return np.array(
        [_overlap(shares_x, shares_y.renumbered(np.argsort(order))) for order in permutations]
    )


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
    first, second = check_pair(x, y, LEAST_ITEMS)
    remaining = list(jackknife_sentences(sentence, groups, rng))
    most = NEIGHBOURS + len(first) - min(map(len, remaining))
    near_x, near_y = _nearest(first, most), _nearest(second, most)
    if near_x is None or near_y is None:
        return np.full(len(remaining), np.nan)
    replicates = []
    for items in remaining:
        if len(items) < LEAST_ITEMS:
            replicates.append(float("nan"))
            continue
        stays = np.zeros(len(first), dtype=bool)
        stays[items] = True
        replicates.append(_overlap(near_x.shares(stays), near_y.shares(stays)))
    return np.array(replicates)


@dataclass(frozen=True)
class _Shares:
    """Which items are an item's k nearest, and with what share of a place each.

    Attributes:
        item, neighbour: (pair,).
        share: 1, or less for items that are equally close, (pair,).
        items: How many items there are, with those that are left out.
    """

    item: IntArray
    neighbour: IntArray
    share: FloatArray
    items: int

    def renumbered(self, numbers: IntArray) -> _Shares:
        """Give each item another number, (item,)."""
        return _Shares(numbers[self.item], numbers[self.neighbour], self.share, self.items)


@dataclass(frozen=True)
class _Nearest:
    """The items closest to each, closest first, with all that are as close as the last of them.

    Attributes:
        item, neighbour: (pair,), by item.
        level: Higher for more distant neighbours, equal for equally close ones, (pair,).
        items: How many items there are.
    """

    item: IntArray
    neighbour: IntArray
    level: IntArray
    items: int

    def shares(self, stays: NDArray[np.bool_]) -> _Shares:
        """Choose each item's k nearest among those that stay, (item,)."""
        there = stays[self.item] & stays[self.neighbour]
        item, neighbour, level = self.item[there], self.neighbour[there], self.level[there]
        starts = np.searchsorted(item, np.arange(self.items))
        last = np.zeros(self.items, dtype=np.int64)
        last[stays] = level[starts[stays] + NEIGHBOURS - 1]
        closer, tied = level < last[item], level == last[item]
        room = NEIGHBOURS - np.bincount(item[closer], minlength=self.items)
        part = room / np.maximum(np.bincount(item[tied], minlength=self.items), 1)
        share = np.where(closer, 1.0, part[item])
        near = closer | tied
        return _Shares(item[near], neighbour[near], share[near], self.items)


def _nearest(vectors: FloatArray, count: int) -> _Nearest | None:
    """List the items closest to each; None where all vectors have one direction."""
    rows = unit_rows(vectors)
    if not centred(rows).any():
        return None
    items = len(rows)
    count = min(count, items - 1)
    parts: list[tuple[IntArray, IntArray, IntArray]] = []
    pairs = 0
    for start in range(0, items, BLOCK):
        # Whole numbers, so that cosines that differ by rounding are equal.
        levels = np.rint(rows[start : start + BLOCK] @ rows.T / -TIED).astype(np.int64)
        itself = np.arange(len(levels))
        levels[itself, start + itself] = np.iinfo(np.int64).max
        last = np.partition(levels, count - 1, axis=1)[:, count - 1]
        item, neighbour = np.nonzero(levels <= last[:, None])
        pairs += len(item)
        if pairs > MOST_TIED:
            raise ShapeError(
                f"The nearest neighbours of {items:,} items cannot be told apart, because too many "
                "of them are equally close: use fewer items, each word once, or another measure."
            )
        level = levels[item, neighbour]
        order = np.lexsort((level, item))
        parts.append((item[order] + start, neighbour[order], level[order]))
    item, neighbour, level = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _Nearest(item, neighbour, level, items)


def _overlap(first: _Shares, second: _Shares) -> float:
    """Compute the share of neighbours in common, of the items that stay."""
    pairs = [shares.item * shares.items + shares.neighbour for shares in (first, second)]
    order = np.argsort(pairs[0])
    pairs[0], mine = pairs[0][order], first.share[order]
    at = np.minimum(np.searchsorted(pairs[0], pairs[1]), len(mine) - 1)
    common = np.where(pairs[0][at] == pairs[1], np.minimum(mine[at], second.share), 0.0)
    return float(common.sum() / second.share.sum())
