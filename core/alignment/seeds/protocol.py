"""How a map between two spaces is evaluated: on held-out rows, in units of the target's variance.

Rows are words (or sentences) of the same text in both models. Either whole word types are held out,
so that no type is in both training and test and a map cannot memorise test words, or whole
sentences, in which case most test words also occur in training. Errors are given for all test rows,
for rows whose word type is in training (`seen`) and for the others (`unseen`). A word type is a
word regardless of case. The split is a hash of the word, or of the sentence's words, so that it is
the same for every pair of models.

Deviations from arXiv 2305.14555: the squared error is divided by the target's variance, so that
layers and models of different scale can be compared; the mean L2 distance is given as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from core.alignment.maps.linear import Aligner, Rows
from core.errors import ShapeError
from core.statistics import sum_by_group
from core.vectors.pairs import Words as Sentences

SHARES = {"train": 0.7, "validation": 0.1, "test": 0.2}
WORDS = ("all", "seen", "unseen")
RETRIEVED = 1000  # test rows among which retrieval is measured
LEAST_ROWS = 20  # of each part of the split
CHUNK = 1000  # rows that are scored at once
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Parts:
    """The split of the rows of a text.

    Attributes:
        train, validation, test: Indices of rows.
        types: Number of each row's word type, (row,); -1 where rows are whole sentences.
        unit: The unit held out with each row, (row,): the number of its word type or sentence.
    """

    train: Int[np.ndarray, " train"]
    validation: Int[np.ndarray, " validation"]
    test: Int[np.ndarray, " test"]
    types: Int[np.ndarray, " row"]
    unit: Int[np.ndarray, " row"]

    def seen(self, rows: Int[np.ndarray, " row"]) -> Bool[np.ndarray, " row"]:
        """Tell whether the word type of each of these rows is in training."""
        return np.isin(self.types[rows], self.types[self.train])


@dataclass(frozen=True)
class Scores:
    """Errors of one fitted map on one part of the split; subsets are `WORDS`, NaN where a subset
    has no rows.

    Attributes:
        nmse: Squared error over the target's squared distance from the training mean: 0 is perfect,
            1 is no better than that mean.
        l2: Mean Euclidean distance between mapped and true rows, in the target's units.
        r2: 1 - squared error over the squared distance from the subset's mean, over all dimensions.
        retrieval: Share of mapped rows whose nearest true row (Euclidean) is the right one, among
            `RETRIEVED`.
        inverse: Round-trip squared error over the source's variance; NaN without an inverse.
        error: Sum of squared errors per unit, for seen and unseen rows.
        spread: Sum of squared distances from the training mean per unit, for seen and unseen rows.
    """

    nmse: Float[np.ndarray, "subset layer"]
    l2: Float[np.ndarray, "subset layer"]
    r2: Float[np.ndarray, "subset layer"]
    retrieval: Float[np.ndarray, "subset layer"]
    inverse: Float[np.ndarray, "subset layer"]
    error: Float[np.ndarray, "2 layer unit"]
    spread: Float[np.ndarray, "2 layer unit"]


def part_of(words: Sequence[str], seed: int = 0) -> str:
    """Assign a sentence (or a single word) to a part of the split, as a function of its words and
    the seed."""
    digest = hashlib.sha256(f"{seed}\x1f{chr(31).join(words)}".encode()).digest()
    place = int.from_bytes(digest[:8], "big") / 2**64
    for part, share in SHARES.items():
        if place < share:
            return part
        place -= share
    return "test"


def split_rows(
    sentences: Sentences,
    sentence: Int[np.ndarray, " row"],
    word: Int[np.ndarray, " row"],
    split: str,
    seed: int,
) -> Parts:
    """Split rows by word type or by sentence.

    Args:
        sentences: Words of each sentence.
        sentence: Sentence of each row.
        word: Position of each row's word in its sentence; -1 where rows are whole sentences.
        split: "word" or "sentence".
        seed: Of the hash.

    Raises:
        ShapeError: If rows are split by word but are sentences, or a part has fewer than
            `LEAST_ROWS` rows.
    """
    whole = bool((word < 0).any())
    if whole and split == "word":
        raise ShapeError(
            "Rows of whole sentences cannot be split by word: choose split by sentence."
        )
    if whole:
        types = np.full(len(word), -1)
    else:
        # Numbered over the whole text, so that the numbers do not depend on which words a pair of
        # models leaves out.
        names = sorted({word.casefold() for words in sentences for word in words})
        number = {name: place for place, name in enumerate(names)}
        types = np.array(
            [number[sentences[s][w].casefold()] for s, w in zip(sentence, word, strict=True)]
        )
    if split == "word":
        parts = np.array([part_of((name,), seed) for name in names])[types]
    else:
        parts = np.array([part_of(words, seed) for words in sentences])[sentence]
    return parts_from(parts, types, types if split == "word" else np.asarray(sentence))


def parts_from(
    parts: np.ndarray, types: Int[np.ndarray, " row"], unit: Int[np.ndarray, " row"]
) -> Parts:
    """Make the split from the name of each row's part.

    Raises:
        ShapeError: If a part has fewer than `LEAST_ROWS` rows.
    """
    train, validation, test = (np.flatnonzero(parts == part) for part in SHARES)
    for part, rows in zip(SHARES, (train, validation, test), strict=True):
        if len(rows) < LEAST_ROWS:
            raise ShapeError(
                f"The {part} part of the split has {len(rows)} rows and needs {LEAST_ROWS}: use "
                "more sentences, or words as rows."
            )
    return Parts(train, validation, test, types, unit)


def rows_for(aligner: Aligner, x: Rows, types: Int[np.ndarray, " row"]) -> Rows:
    """Return an aligner's input for rows: their vectors, or their word types.

    Raises:
        ShapeError: If the aligner needs words and rows are whole sentences.
    """
    if not aligner.of_words:
        return x
    if (types < 0).any():
        raise ShapeError(
            "The per-word average needs rows that are words: choose words as rows, or leave it out."
        )
    return np.broadcast_to(types[:, None].astype(np.float64), (*x.shape[:-1], 1))


def score(
    aligner: Aligner,
    x: Rows,
    y: Rows,
    unit: Int[np.ndarray, " row"],
    seen: Bool[np.ndarray, " row"],
    train_mean: Float[np.ndarray, "... 1 d"],
) -> Scores:
    """Score a fitted map on rows of one part of the split.

    Args:
        aligner: Fitted, with a map for each layer.
        x, y: Paired rows, (layer, row, d).
        unit: The unit held out with each row.
        seen: Whether the row's word type is in training.
        train_mean: The target's mean over the training rows, the baseline prediction.

    Raises:
        ShapeError: If there are no rows.
    """
    if x.ndim != 3 or x.shape[1] == 0:
        raise ShapeError("There are no held-out rows to score: use more sentences.")
    squared, from_train, retrieved, back = _by_row(
        aligner, x, y, np.broadcast_to(train_mean, (len(y), 1, y.shape[-1]))
    )
    subsets = (np.ones_like(seen), seen, ~seen)
    parts = [_subset(rows, squared, from_train, y, retrieved, back) for rows in subsets]
    names, place = np.unique(unit, return_inverse=True)
    error, spread = (np.zeros((2, len(x), len(names))) for _ in range(2))
    for side, rows in enumerate(subsets[1:]):
        error[side] = sum_by_group(squared[:, rows], place[rows], len(names))
        spread[side] = sum_by_group(from_train[:, rows], place[rows], len(names))
    nmse, l2, r2, found_again, inverse = (np.stack(columns) for columns in zip(*parts, strict=True))
    return Scores(nmse, l2, r2, found_again, inverse, error, spread)


def _by_row(aligner: Aligner, x: Rows, y: Rows, train_mean: np.ndarray) -> tuple[np.ndarray, ...]:
    """Measure each row, in chunks, because all rows in float64 would take most of the memory.

    Returns:
        Squared error, squared distance from the training mean and the result of `find_again`, each
        (layer, row), and the round-trip squared error with the squared distance from the mean of x,
        (2, layer, row), NaN without an inverse.
    """
    layers, rows = x.shape[:2]
    squared, from_train = np.empty((layers, rows)), np.empty((layers, rows))
    back = np.full((2, layers, rows), np.nan)
    mean_x = x.mean(1, keepdims=True, dtype=np.float64)
    looking = np.linspace(0, rows - 1, min(RETRIEVED, rows)).astype(np.int64)
    looked = np.empty((layers, len(looking), y.shape[-1]))
    for start in range(0, rows, CHUNK):
        some = slice(start, min(start + CHUNK, rows))
        mapped, true = aligner.transform(x[:, some]), np.asarray(y[:, some], dtype=np.float64)
        squared[:, some] = ((mapped - true) ** 2).sum(-1)
        from_train[:, some] = ((true - train_mean) ** 2).sum(-1)
        here = (looking >= some.start) & (looking < some.stop)
        looked[:, here] = mapped[:, looking[here] - start]
        if aligner.invertible:
            source = np.asarray(x[:, some], dtype=np.float64)
            back[0][:, some] = ((aligner.inverse_transform(mapped) - source) ** 2).sum(-1)
            back[1][:, some] = ((source - mean_x) ** 2).sum(-1)
    retrieved = np.full((layers, rows), -1)
    for layer, layer_rows in enumerate(looked):
        retrieved[layer, looking] = find_again(
            layer_rows, np.asarray(y[layer, looking], dtype=np.float64)
        )
    return squared, from_train, retrieved, back


def _subset(
    rows: np.ndarray,
    squared: np.ndarray,
    from_train: np.ndarray,
    y: np.ndarray,
    hits: np.ndarray,
    back: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """nmse, l2, r2, retrieval, inverse of a subset of the rows, each (layer,)."""
    if not rows.any():
        return (np.full(len(y), np.nan),) * 5
    targets = [layer[rows].astype(np.float64) for layer in y]
    variance = np.array([((layer - layer.mean(0)) ** 2).sum() for layer in targets])
    total = squared[:, rows].sum(-1)
    looked = hits[:, rows]
    retrieved = (looked > 0).sum(-1) / np.maximum((looked >= 0).sum(-1), 1)
    return (
        total / np.maximum(from_train[:, rows].sum(-1), TINY),
        np.sqrt(squared[:, rows]).mean(-1),
        1 - total / np.maximum(variance, TINY),
        retrieved,
        back[0][:, rows].sum(-1) / np.maximum(back[1][:, rows].sum(-1), TINY),
    )


def find_again(
    mapped: Float[np.ndarray, "row d"], y: Float[np.ndarray, "row d"]
) -> Int[np.ndarray, " row"]:
    """Return 1 where a mapped row's nearest true row is the right one, 0 where not, -1 where it was
    not tested.

    At most `RETRIEVED` evenly spaced rows are tested, among each other. Where a true row occurs
    twice (the same word in the same context), either counts as right.
    """
    chosen = np.linspace(0, len(y) - 1, min(RETRIEVED, len(y))).astype(np.int64)
    result = np.full(len(y), -1)
    mapped, y = mapped[chosen], y[chosen]
    nearest = ((y**2).sum(-1)[None, :] - 2 * mapped @ y.T).argmin(1)
    result[chosen] = (y[nearest] == y).all(-1)
    return result
