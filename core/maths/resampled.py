"""A statistic of sentences with its bootstrap resamples, and differences of such statistics.

What two scores of the same sentences share is the same under each resample, and leaves no noise in
their difference.

References: Efron & Tibshirani 1993 (percentile interval); Welch 1947 (two sources of error).
Deviations: none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from core.maths.statistics import LEVEL, FloatArray, bootstrap_interval, ratios, t_interval


@dataclass(frozen=True)
class Resampled:
    """A statistic, such as the share of right answers in each layer, with its resamples.

    Attributes:
        value: Of all sentences, any shape.
        resamples: Of each resample of the sentences, (draw, *shape).
        sentences: Number of sentences.
        changes: With each random change of a model, (change, *shape), where the value is the mean
            over them and they are a second source of error; None where only sentences are drawn.

    Example:
        >>> counts = np.array([[2, 0], [1, 1], [0, 2]])
        >>> trained = Resampled.of([3, 4], [4, 4], counts)
        >>> random = Resampled.of([[0, 1], [2, 3]], [4, 4], counts).over_changes()
        >>> excess = trained - random
        >>> float(excess.value), excess.resamples.tolist(), excess.changes.tolist()
        (0.5, [0.5, 0.5, 0.5], [-0.125, -0.625])
    """

    value: FloatArray
    resamples: Float[np.ndarray, "draw ..."]
    sentences: int
    changes: Float[np.ndarray, "change ..."] | None = None

    @classmethod
    def of(
        cls, parts: ArrayLike, wholes: ArrayLike, counts: Int[np.ndarray, "draw sentence"]
    ) -> Resampled:
        """Divide sums over sentences, such as right answers by all answers, see `ratio`.

        Args:
            parts: Of each sentence, (*shape, sentence).
            wholes: Of each sentence, (sentence,).
            counts: How often a sentence is in each resample, see `sentence_counts`.
        """
        return cls(*ratios(parts, wholes, counts), np.shape(counts)[1])

    def mapped(self, function: Callable[[FloatArray], FloatArray]) -> Resampled:
        """Apply a linear function along the last axis, such as a difference between layers."""
        changes = None if self.changes is None else function(self.changes)
        value, resamples = function(self.value), function(self.resamples)
        return replace(self, value=value, resamples=resamples, changes=changes)

    def at(self, places: int | np.ndarray) -> Resampled:
        """Take one place of the last axis, or those of a mask."""
        return self.mapped(lambda part: part[..., places])

    def over_changes(self) -> Resampled:
        """Average over random changes, the first axis of the value."""
        value, resamples = self.value.mean(axis=0), self.resamples.mean(axis=1)
        return replace(self, value=value, resamples=resamples, changes=self.value)

    def __sub__(self, other: Resampled) -> Resampled:
        """Subtract a statistic of the same sentences, under the same resamples. Where both are
        means over random changes, these are paired."""
        changes = self.changes
        if other.changes is not None:
            changes = (0.0 if changes is None else changes) - other.changes
        value, resamples = self.value - other.value, self.resamples - other.resamples
        return replace(self, value=value, resamples=resamples, changes=changes)

    def with_interval(self, level: float = LEVEL) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the value and the lower and upper end of its interval.

        Over sentences alone it is the percentile interval of the resamples; of a mean over random
        changes it is Student's t, with the variance over resamples and that of the mean over
        changes (one change has none).
        """
        if self.changes is None:
            low, high = bootstrap_interval(self.value, self.resamples, level)
        else:
            variances, degrees = [self.resamples.var(axis=0)], [max(self.sentences - 1, 1)]
            if (number := len(self.changes)) > 1:
                variances.append(self.changes.var(axis=0, ddof=1) / number)
                degrees.append(number - 1)
            low, high = t_interval(self.value, variances, degrees, level)
        return self.value[()], low[()], high[()]
