"""Arcs of the parse by length: which of them a predicted tree has, between adjacent words and
farther apart.

An arc's length is the distance of its two words in the sentence, punctuation counted. Most arcs
are short, so that a score over all of them is mostly one of adjacent words, which the linear chain
links without any syntax.

Reference: Hewitt & Manning 2019, NAACL, section 3.2 (UUAS). Deviations: the score is split by the
length of the gold arc, as parsers' scores are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from core.errors import ShapeError
from core.maths.statistics import sum_by_group
from core.maths.structural.scores import Gold

ADJACENT, FAR = "adjacent", "not adjacent"
BY_LENGTH = (ADJACENT, "2 words", "3 words", "4 or more words")
ARCS = (*BY_LENGTH, FAR)


def count_arcs(
    predicted: Int[np.ndarray, "layer word"], gold: Gold
) -> tuple[Float[np.ndarray, "arcs layer sentence"], Float[np.ndarray, "arcs sentence"]]:
    """Count the gold arcs that predicted trees have, and all gold arcs, by length and sentence.

    Args:
        predicted: 1-based heads of the predicted trees, 0 for the root; the words of all sentences
            one after another.
        gold: The gold trees; arcs to and from punctuation are left out.

    Returns:
        Counts of predicted gold arcs, and of gold arcs, for each of ARCS.

    Raises:
        ShapeError: If predictions and sentences differ in words.

    Example:
        >>> apart, depths, keep = np.zeros((3, 3)), np.zeros(3), np.full(3, True)
        >>> hits, edges = count_arcs(np.array([[0, 1, 2]]), Gold([(2, 0, 2)], [apart], [depths],
        ...     [keep]))
        >>> hits[0].tolist(), edges[:, 0].tolist()
        ([[2.0]], [2.0, 0.0, 0.0, 0.0, 0.0])
    """
    lengths = gold.lengths
    if predicted.shape[1:] != (int(lengths.sum()),):
        raise ShapeError(
            f"{int(lengths.sum())} words do not fit predicted heads of shape {predicted.shape}."
        )
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    keep = np.concatenate(list(gold.keep))
    heads = np.concatenate([np.asarray(row, dtype=np.int64) for row in gold.heads])
    words = np.flatnonzero(heads > 0)
    above = starts[words] + heads[words] - 1
    inside = keep[words] & keep[above]
    words, above = words[inside], above[inside]
    guesses = np.where(predicted > 0, starts + predicted.astype(np.int64) - 1, -1)
    right = (guesses[:, words] == above) | (guesses[:, above] == words)
    kind = np.minimum(np.abs(words - above), len(BY_LENGTH)) - 1
    hits, edges = [], []
    for in_class in (*(kind == number for number in range(len(BY_LENGTH))), kind > 0):
        group = sentence[words[in_class]]
        hits.append(sum_by_group(right[:, in_class], group, len(lengths)))
        edges.append(sum_by_group(np.ones(len(group)), group, len(lengths)))
    return np.stack(hits), np.stack(edges)


def chain_heads(keep: Sequence[Bool[np.ndarray, " word"]]) -> Int[np.ndarray, "one word"]:
    """Heads of the linear chain: each word under the one before it that is not punctuation.

    Example:
        >>> chain_heads([np.array([True, False, True])]).tolist()
        [[0, 1, 1]]
    """
    rows = []
    for counted in keep:
        places = np.where(counted, np.arange(1, len(counted) + 1), 0)
        rows.append(np.concatenate([[0], np.maximum.accumulate(places)[:-1]]))
    return np.concatenate(rows)[None]
