"""Minimum description length by the online code: bits needed to send the labels, given the vectors.

The labels are sent in blocks, each about twice as long as the last. The first block is sent with
the uniform code, every other with the probabilities of a classifier fitted to the blocks before it.
Labels that are easy to learn from a representation have a short code, even where two classifiers
reach the same accuracy: the length measures both the accuracy of a probe and the number of examples
that it needs, and therefore needs no control of the probe's size.

Reference: Voita & Titov 2020, EMNLP, "Information-Theoretic Probing with Minimum Description
Length", section 2.2.
Deviations: blocks end with a sentence, and the first has 1/64 of the sentences or eight of them
(theirs: 0.1 % of larger data); the classifier is linear and fitted to convergence, so that the
length has no noise from training.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from core.errors import ShapeError

Fitted = TypeVar("Fitted")
HALVINGS = 6
FEWEST = 8  # sentences in the first block


def block_ends(sentences: int) -> tuple[int, ...]:
    """The number of sentences sent after each block; the last is all of them.

    Raises:
        ShapeError: If there is no sentence.
    """
    if sentences < 1:
        raise ShapeError("An online code needs at least 1 sentence; there are none.")
    halves = (-(-sentences // 2**power) for power in range(HALVINGS, 0, -1))
    return (*dict.fromkeys(half for half in halves if FEWEST <= half < sentences), sentences)


def online_code(
    ends: Sequence[int],
    classes: int,
    fit: Callable[[int, Fitted | None], Fitted],
    code: Callable[[Fitted, int, int], Float[np.ndarray, "*set item"]],
) -> tuple[Float[np.ndarray, "*set item"], Fitted]:
    """Compute the bits of every label, in the order of sending, and fit a classifier to all.

    Args:
        ends: Items sent after each block, increasing.
        classes: Number of classes; a label of the first block costs log2(classes) bits.
        fit: (number of items, classifier before) -> classifier of the first items.
        code: (classifier, start, end) -> bits of the labels of the items from start to end.

    Raises:
        ShapeError: If the ends do not increase from above 0, or there is no class.
    """
    if classes < 1 or list(ends) != sorted(set(ends)) or not ends or ends[0] < 1:
        raise ShapeError(
            "Ends of blocks must increase from above 0, with at least 1 class; "
            f"got {tuple(ends)} and {classes} classes."
        )
    fitted: Fitted | None = None
    blocks = []
    for start, end in itertools.pairwise(ends):
        fitted = fit(start, fitted)
        blocks.append(code(fitted, start, end))
    shape = blocks[0].shape[:-1] if blocks else ()
    uniform = np.full((*shape, ends[0]), np.log2(classes))
    return np.concatenate([uniform, *blocks], axis=-1), fit(ends[-1], fitted)
