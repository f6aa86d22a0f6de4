"""How a map between two spaces is scored: on held-out rows, in units of the target's variance.

Errors are given for all test rows, for rows whose word type is in training (`seen`) and for the
others (`unseen`).

Deviations from arXiv 2305.14555: the squared error is divided by the target's variance, so that
layers and models of different scale can be compared; the mean L2 distance is given as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from jaxtyping import Bool, Float, Int

from core.errors import ShapeError
from core.maths.maps.linear import Aligner
from core.maths.maps.moments import TINY, Rows
from core.maths.statistics import sum_by_group

SUBSETS = ("all", "seen", "unseen")  # of rows, by whether their word type is in training
RETRIEVED = 1000  # test rows among which retrieval is measured
AT_ONCE = 2**20  # numbers of mapped rows that are scored at once


@dataclass(frozen=True)
class Scores:
    """Errors of one fitted map on one part of the split; subsets are `SUBSETS`, NaN where a subset
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


def normalised(
    error: Float[np.ndarray, "*set"], spread: Float[np.ndarray, "*set"]
) -> Float[np.ndarray, "*set"]:
    """Divide squared errors by squared distances from a mean, which may be 0."""
    return cast(np.ndarray, error / np.maximum(spread, TINY))


def unexplained(
    mapped: Rows, true: Rows, mean: Float[np.ndarray, "... d"]
) -> Float[np.ndarray, ...]:
    """Compute the fraction of variance unexplained: squared error over the truth's squared distance
    from its training mean, 0 if perfect and 1 if no better than that mean.

    Args:
        mapped, true: Rows, summed together with their dimensions.
        mean: Of the true rows in training.

    Example:
        >>> true = np.array([[1.0, 0.0], [3.0, 0.0]])
        >>> float(unexplained(true + 0.5, true, true.mean(0)))
        0.5
    """
    error, spread = (((true - guess) ** 2).sum((-1, -2)) for guess in (mapped, mean))
    return normalised(error, spread)


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


@dataclass(frozen=True, eq=False)
class Target:
    """Rows of one part of the split that maps should hit, and what every map's score needs of them.

    Attributes:
        y: Rows of the target, (layer, row, d).
        unit: The unit held out with each row.
        seen: Whether the row's word type is in training.
        train_mean: The target's mean over the training rows, the baseline prediction.
    """

    y: Rows
    unit: Int[np.ndarray, " row"]
    seen: Bool[np.ndarray, " row"]
    train_mean: Float[np.ndarray, "... 1 d"]

    @property
    def subsets(self) -> tuple[Bool[np.ndarray, " row"], ...]:
        """The rows of each of `SUBSETS`."""
        return np.ones_like(self.seen), self.seen, ~self.seen

    @cached_property
    def from_train(self) -> Float[np.ndarray, "layer row"]:
        """Squared distance of each row from the training mean."""
        means = np.broadcast_to(self.train_mean, (len(self.y), 1, self.y.shape[-1]))
        return np.stack(
            [((y - mean) ** 2).sum(-1) for y, mean in zip(_double(self.y), means, strict=True)]
        )

    @cached_property
    def variance(self) -> Float[np.ndarray, "subset layer"]:
        """Sum of squared distances from the subset's own mean; 0 of no rows."""
        spread = np.zeros((len(SUBSETS), len(self.y)))
        for place, y in enumerate(_double(self.y)):
            for subset, rows in enumerate(self.subsets):
                if rows.any():
                    spread[subset, place] = ((y[rows] - y[rows].mean(0)) ** 2).sum()
        return spread


def _double(rows: Rows) -> Iterator[np.ndarray]:
    """Each layer's rows in double precision, one layer at a time to save memory."""
    return (np.asarray(layer, dtype=np.float64) for layer in rows)


def score(aligner: Aligner, x: Rows, target: Target) -> Scores:
    """Score a fitted map on rows of one part of the split.

    Args:
        aligner: Fitted, with a map for each layer.
        x: What it is given, (layer, row, d).
        target: The rows to hit.

    Raises:
        ShapeError: If there are no rows.
    """
    if x.ndim != 3 or x.shape[1] == 0:
        raise ShapeError("There are no held-out rows to score: use more sentences.")
    squared, retrieved, back = _by_row(aligner, x, target.y)
    parts = [
        _subset(rows, squared, target.from_train, variance, retrieved, back)
        for rows, variance in zip(target.subsets, target.variance, strict=True)
    ]
    names, place = np.unique(target.unit, return_inverse=True)
    error, spread = (np.zeros((2, len(x), len(names))) for _ in range(2))
    for side, rows in enumerate(target.subsets[1:]):
        error[side] = sum_by_group(squared[:, rows], place[rows], len(names))
        spread[side] = sum_by_group(target.from_train[:, rows], place[rows], len(names))
    nmse, l2, r2, found_again, inverse = (np.stack(columns) for columns in zip(*parts, strict=True))
    return Scores(nmse, l2, r2, found_again, inverse, error, spread)


def _by_row(aligner: Aligner, x: Rows, y: Rows) -> tuple[np.ndarray, ...]:
    """Measure each row, in chunks, because all rows in float64 would take most of the memory.

    Returns:
        Squared error and the result of `find_again`, each (layer, row), and the round-trip squared
        error with the squared distance from the mean of x, (2, layer, row), NaN without an inverse.
        At most `RETRIEVED` evenly spaced rows are looked for, among each other; the others have -1.
    """
    layers, rows = x.shape[:2]
    squared, back = np.empty((layers, rows)), np.full((2, layers, rows), np.nan)
    mean_x = x.mean(1, keepdims=True, dtype=np.float64) if aligner.invertible else None
    looking = spaced(rows, RETRIEVED)
    looked = np.empty((layers, len(looking), y.shape[-1]))
    chunk = max(1, AT_ONCE // (layers * y.shape[-1]))
    for start in range(0, rows, chunk):
        some = slice(start, min(start + chunk, rows))
        mapped = aligner.transform(x[:, some])
        squared[:, some] = ((mapped - y[:, some]) ** 2).sum(-1)
        here = (looking >= some.start) & (looking < some.stop)
        looked[:, here] = mapped[:, looking[here] - start]
        if mean_x is not None:
            source = np.asarray(x[:, some], dtype=np.float64)
            back[0][:, some] = ((aligner.inverse_transform(mapped) - source) ** 2).sum(-1)
            back[1][:, some] = ((source - mean_x) ** 2).sum(-1)
    retrieved = np.full((layers, rows), -1)
    for layer, layer_rows in enumerate(looked):
        retrieved[layer, looking] = find_again(
            layer_rows, np.asarray(y[layer, looking], dtype=np.float64)
        )
    return squared, retrieved, back


def _subset(
    rows: np.ndarray,
    squared: np.ndarray,
    from_train: np.ndarray,
    variance: np.ndarray,
    hits: np.ndarray,
    back: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """nmse, l2, r2, retrieval, inverse of a subset of the rows, each (layer,)."""
    if not rows.any():
        return (np.full(len(squared), np.nan),) * 5
    total = squared[:, rows].sum(-1)
    looked = hits[:, rows]
    retrieved = (looked > 0).sum(-1) / np.maximum((looked >= 0).sum(-1), 1)
    return (
        normalised(total, from_train[:, rows].sum(-1)),
        np.sqrt(squared[:, rows]).mean(-1),
        1 - normalised(total, variance),
        retrieved,
        normalised(*back[:, :, rows].sum(-1)),
    )


def find_again(
    mapped: Float[np.ndarray, "row d"], y: Float[np.ndarray, "row d"]
) -> Bool[np.ndarray, " row"]:
    """Tell whether each mapped row's nearest true row is the right one.

    Where a true row occurs twice (the same word in the same context), either counts as right.
    """
    nearest = ((y**2).sum(-1)[None, :] - 2 * mapped @ y.T).argmin(1)
    return cast(np.ndarray, (y[nearest] == y).all(-1))


def spaced(count: int, most: int) -> Int[np.ndarray, " row"]:
    """Choose at most `most` of this many rows, evenly spaced, and at least one.

    Example:
        >>> spaced(9, 3).tolist(), spaced(2, 3).tolist()
        ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, count - 1, min(max(most, 1), count)).astype(np.int64)
