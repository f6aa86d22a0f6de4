"""Control maps: the per-word average, and ridge regression on shuffled pairs.

The per-word average ignores the source model. Hidden states depend mostly on their word: where a
test word occurs in training, its mean target vector is already close. What a map has learned beyond
the word is its difference from that average, and its error on unseen words.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from core.maths.maps.linear import Aligner, LinearAligner, Ridge
from core.maths.maps.moments import Moments, Rows, Space, check_pairs, moments
from core.maths.statistics import sum_by_group


class Lookup(Aligner):
    """The mean target vector of each word type; a type that is not in training gets the mean of all
    rows.

    Its input rows are numbers of word types, (..., row, 1), the same in all layers.
    """

    of_words = True

    def fit(self, x: Rows, y: Rows, validation: tuple[Rows, Rows] | None = None) -> Self:
        """Average the target rows of each word type.

        Raises:
            ShapeError: If rows do not pair up or values are not finite.
        """
        y = np.asarray(y, dtype=np.float64)
        check_pairs(np.asarray(x), y)
        types = _types(x)
        self.word_types, place = np.unique(types, return_inverse=True)
        sums = sum_by_group(y, place, len(self.word_types), axis=-2)
        means = sums / np.bincount(place, minlength=len(self.word_types))[:, None]
        self.table = np.concatenate([means, y.mean(-2, keepdims=True)], axis=-2)
        return self

    def transform(self, x: Rows) -> Rows:
        """Return the mean target vectors of these word types."""
        types = _types(x)
        place = np.minimum(np.searchsorted(self.word_types, types), len(self.word_types) - 1)
        rows = np.where(self.word_types[place] == types, place, len(self.word_types))
        return self.table[..., rows, :]


class Shuffled(LinearAligner):
    """Ridge regression on shuffled pairs: each source row gets a random target row. Its error
    should be 1."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(
        self,
        x: Rows,
        y: Rows,
        validation: tuple[Rows, Rows] | None = None,
        source: Space | None = None,
    ) -> Self:
        """Fit on target rows in random order; the validation rows are shuffled too."""
        rng = np.random.default_rng(self.seed)
        y = np.asarray(y)
        if validation is not None:
            held = np.asarray(validation[1])
            validation = (validation[0], held[..., rng.permutation(held.shape[-2]), :])
        dealt = y[..., rng.permutation(y.shape[-2]), :]
        return self.fit_moments(moments(x, dealt, source), validation)

    def fit_known(self, x: Rows, y: Rows, validation: tuple[Rows, Rows], sums: Moments) -> Self:
        """Fit with the known side of the source."""
        return self.fit(x, y, validation, sums.x)

    def _solve(self, moments: Moments, validation: tuple[Rows, Rows] | None) -> np.ndarray:
        return Ridge().fit_moments(moments, validation).weight


def _types(x: Rows) -> np.ndarray:
    """The word type of each row, the same along the leading dimensions."""
    rows = np.asarray(x)
    return rows.reshape(-1, *rows.shape[-2:])[0, :, 0]
