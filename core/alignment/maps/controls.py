"""Maps that must be beaten: a table of mean vectors by word, and ridge regression on broken pairs.

The table reads no source vector at all. Hidden states are mostly their word: where a word of the test rows was in
training, its mean target vector alone is close, so that a map is worth its difference from the table, and what it
does on words that were never fitted on.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from core.alignment.maps.linear import Aligner, LinearAligner, Moments, Ridge, Rows, check_pairs
from core.statistics import sum_by_group


class Lookup(Aligner):
    """The mean target vector of each word type; a type that was not in training gets the mean of all rows.

    Its rows are numbers of word types, (..., row, 1), the same in all layers.
    """

    of_words = True

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Average the target's rows of each word type.

        Raises:
            ShapeError: If rows do not pair up or values are not finite.
        """
        y = np.asarray(y, dtype=np.float64)
        check_pairs(np.asarray(x), y)
        types = _types(x)
        self.known, place = np.unique(types, return_inverse=True)
        sums = sum_by_group(y, place, len(self.known), axis=-2)
        means = sums / np.bincount(place, minlength=len(self.known))[:, None]
        self.table = np.concatenate([means, y.mean(-2, keepdims=True)], axis=-2)
        return self

    def transform(self, x: Rows) -> Rows:
        """The table's vectors of these word types."""
        types = _types(x)
        place = np.minimum(np.searchsorted(self.known, types), len(self.known) - 1)
        rows = np.where(self.known[place] == types, place, len(self.known))
        return self.table[..., rows, :]


class Shuffled(LinearAligner):
    """Ridge regression on broken pairs: each row is paired with another one's partner. Its error should be 1."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Fit on pairs broken by one permutation, the validation pairs too."""
        rng = np.random.default_rng(self.seed)
        y = np.asarray(y)
        if validation is not None:
            held = np.asarray(validation[1])
            validation = (validation[0], held[..., rng.permutation(held.shape[-2]), :])
        return super().fit(x, y[..., rng.permutation(y.shape[-2]), :], validation)

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        return Ridge().fit_moments(moments, validation).weight


def _types(x: Rows) -> np.ndarray:
    """The word type of each row; leading dimensions repeat it."""
    rows = np.asarray(x)
    return rows.reshape(-1, *rows.shape[-2:])[0, :, 0]
