"""Chance level: the similarity of two spaces when the sentences of the second one are shuffled.

Words of one sentence are similar in every model that reads it, so two spaces that have nothing in
common but the text are more similar than shuffled words would suggest: independent spaces exceed
that chance level nearly always. Here whole sentences are shuffled: each is paired with another
sentence of as many items, item by item in order, so that the effects of sentence and position stay
and only the pairing is broken.

Where too few sentences have one length, the next shorter ones join them, and all are cut to the
shortest; the few items that are cut off are left out, because shuffling them alone would lower the
chance level. No sentence is paired with itself, so two equal models have the chance level of
unrelated ones. If every item is a sentence, or there is only one sentence, items are shuffled.

Reference: Anderson & ter Braak 2003, Permutation tests for multi-factorial analysis of variance
(permuting whole units). Deviations: cycles instead of all permutations, and cut sentences, as said.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.maths.similarity.kernels import IntArray
from core.maths.statistics import sentence_labels

LEAST_TOGETHER = 4  # sentences of one length; if there are fewer, the next shorter ones join


def pair_sentences(
    sentence: ArrayLike, draws: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Choose the items of the null, and orders of them in which whole sentences are shuffled.

    Args:
        sentence: Sentence of each item, any integers, shape (item,).
        draws: How many orders.
        rng: Source of randomness.

    Returns:
        The items that are used, shape (kept,), and permutations of these, shape (draw, kept).

    Raises:
        ShapeError: If there are no items or the array is not one-dimensional.

    Example:
        >>> kept, orders = pair_sentences([0, 0, 1, 1, 2, 2], 2, np.random.default_rng(0))
        >>> kept.tolist()
        [0, 1, 2, 3, 4, 5]
        >>> orders.shape
        (2, 6)
    """
    labels, sentences = sentence_labels(sentence)
    if sentences in (1, labels.size):
        return np.arange(labels.size), np.array(
            [rng.permutation(labels.size) for _ in range(draws)]
        )
    groups = _groups(
        np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    )
    paired = np.concatenate([group.ravel() for group in groups])
    place = np.empty(labels.size, dtype=np.int64)
    place[paired] = np.arange(paired.size)
    orders = np.empty((draws, paired.size), dtype=np.int64)
    for drawn in orders:
        for group in groups:
            cycle = rng.permutation(len(group))
            drawn[place[group[cycle]]] = place[group[np.roll(cycle, 1)]]
    return paired, orders


def _groups(owned: list[IntArray]) -> list[IntArray]:
    """Group sentences of one length, LEAST_TOGETHER or more, as items (sentence, item); longest
    first."""
    waiting: list[IntArray] = []
    groups: list[list[IntArray]] = []
    for size in sorted({len(items) for items in owned}, reverse=True):
        waiting += [items for items in owned if len(items) == size]
        if len(waiting) >= LEAST_TOGETHER:
            groups.append(waiting)
            waiting = []
    if len(waiting) > 1:  # a single sentence has no partner
        groups.append(waiting)
    return [np.stack([items[: min(map(len, group))] for items in group]) for group in groups]
