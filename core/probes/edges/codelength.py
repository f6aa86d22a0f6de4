"""Minimum description length by the online code: how many bits the labels cost somebody who has the vectors.

The labels are sent in blocks, each about twice as long as all before it. The first goes by the uniform code; every
other is coded with the probabilities of a classifier that was fitted to the blocks before it. A representation that
makes the labels easy to learn makes the code short, also where two classifiers end at the same accuracy: the length
counts how well a probe does and how many examples it took to get there, so it needs no control of the probe's size.

Reference: Voita & Titov 2020, EMNLP, "Information-Theoretic Probing with Minimum Description Length", section 2.2.
Deviations: blocks end with a sentence, and the first is 1/64 of the sentences or eight of them (theirs: 0.1 % of
larger data); the classifier is linear and found exactly, so that the length has no noise from training.
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
    """How many sentences have been sent after each block; the last is all of them.

    Raises:
        ShapeError: If there is no sentence.
    """
    if sentences < 1:
        raise ShapeError("An online code needs sentences to send.")
    halves = (-(-sentences // 2**power) for power in range(HALVINGS, 0, -1))
    return (*dict.fromkeys(half for half in halves if FEWEST <= half < sentences), sentences)


def online_code(
    ends: Sequence[int],
    classes: int,
    fit: Callable[[int, Fitted | None], Fitted],
    code: Callable[[Fitted, int, int], Float[np.ndarray, "*set item"]],
) -> tuple[Float[np.ndarray, "*set item"], Fitted]:
    """Bits of every label, in the order in which they are sent, and what was fitted to all of them.

    Args:
        ends: Items sent after each block; rising.
        classes: That a label can be: the first block costs log2(classes) a label.
        fit: From a number of items, and what was fitted before, to what is fitted to so many from the front.
        code: From that and a range of items to the bits that each of their labels costs.

    Raises:
        ShapeError: If the ends do not rise from above 0, or there is no class.
    """
    if classes < 1 or list(ends) != sorted(set(ends)) or not ends or ends[0] < 1:
        raise ShapeError(f"Blocks end at rising numbers of items above 0, got {tuple(ends)} with {classes} classes.")
    fitted: Fitted | None = None
    blocks = []
    for start, end in itertools.pairwise(ends):
        fitted = fit(start, fitted)
        blocks.append(code(fitted, start, end))
    shape = blocks[0].shape[:-1] if blocks else ()
    uniform = np.full((*shape, ends[0]), np.log2(classes))
    return np.concatenate([uniform, *blocks], axis=-1), fit(ends[-1], fitted)
