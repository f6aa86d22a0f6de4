"""The static window: a model's own embedding table read through a few words, with no Transformer
layer run.

What a word's layer 0 and its neighbours' say together is known before any layer computes: a finding
about hidden states is a finding about layers only as far as it goes beyond this. The rows are the
layer-0 vectors of a word and of the words up to `reach` places before and behind it in its
sentence; where there is no such word, zeros. How wide a window tells most depends on the model and
on what is predicted, so that every study chooses its reach on development data (`of_best_reach`).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from core.errors import ShapeError
from core.maths.progress import span

REACHES = (1, 2, 4)  # words on either side, of which development data choose


def places_in(reach: int) -> tuple[int, ...]:
    """Places of a window, the word's own first and then outwards: a narrower one begins a wider
    one.

    Example:
        >>> places_in(2)
        (0, -1, 1, -2, 2)
    """
    return (0, *(side * step for step in range(1, reach + 1) for side in (-1, 1)))


def static_window(
    vectors: Float[np.ndarray, "word d_model"],
    sentence: Int[np.ndarray, " word"],
    word: Int[np.ndarray, " word"],
    reach: int,
) -> Float[np.ndarray, "word window"]:
    """Layer-0 vectors of each word and its neighbours within `reach`, one beside the other in the
    order of `places_in`; zeros where there is none. Raises ShapeError if rows are whole sentences.

    Example:
        >>> import numpy as np
        >>> rows = np.array([[1.0], [2.0], [3.0]])
        >>> static_window(rows, np.array([0, 0, 1]), np.array([0, 1, 0]), reach=1).tolist()
        [[1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [3.0, 0.0, 0.0]]
    """
    if (np.asarray(word) < 0).any():
        raise ShapeError("A static window needs rows that are words.")
    longest = (
        int(word.max(initial=0)) + 1 + 2 * reach
    )  # room for the places before and behind a sentence
    address = sentence.astype(np.int64) * longest + word + reach
    order = np.argsort(address, kind="stable")
    ordered = address[order]
    blocks = []
    for place in places_in(reach):
        at = np.minimum(np.searchsorted(ordered, address + place), len(ordered) - 1)
        there = ordered[at] == address + place
        blocks.append(np.where(there[:, None], vectors[order[at]], vectors.dtype.type(0)))
    return np.concatenate(blocks, axis=1)


def windows_of_sentences(
    vectors: Float[np.ndarray, "word d_model"], lengths: Int[np.ndarray, " sentence"], reach: int
) -> Float[np.ndarray, "word window"]:
    """Static windows of the words of whole sentences of these lengths, one after another.

    Example:
        >>> windows_of_sentences(np.array([[1.0], [2.0], [3.0]]), np.array([2, 1]), 1).tolist()
        [[1.0, 0.0, 2.0], [2.0, 1.0, 0.0], [3.0, 0.0, 0.0]]
    """
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return static_window(vectors, sentence, np.arange(len(sentence)) - starts, reach)


def of_best_reach(
    vectors: Float[np.ndarray, "word d_model"],
    lengths: Int[np.ndarray, " sentence"],
    score: Callable[[Float[np.ndarray, "word window"]], float],
) -> tuple[Float[np.ndarray, "word window"], int]:
    """The static window of the reach that scores highest on development sentences, and that reach;
    of equal ones the first.

    Example:
        >>> rows, lengths = np.array([[1.0], [2.0], [3.0]]), np.array([3])
        >>> of_best_reach(rows, lengths, lambda window: -abs(window.shape[1] - 5))[1]
        2
    """
    scores, widths = [], np.cumsum([0, *map(len, map(places_in, REACHES))])
    for reach, ends in zip(REACHES, pairwise(widths / widths[-1]), strict=True):
        with span(*ends):  # a wider one takes longer
            scores.append(score(windows_of_sentences(vectors, lengths, reach)))
    reach = REACHES[int(np.argmax(scores))]
    return windows_of_sentences(vectors, lengths, reach), reach
