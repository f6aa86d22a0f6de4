"""Errors averaged over pairs, and their differences, with intervals over models and held-out units.

Pairs that share a model are not independent, and three models are a sample of three, not of six
pairs. The jackknife therefore leaves out a model with all its pairs, and a held-out unit (a word
type or a sentence) with all its rows. The two variances are added, and the interval is Student's t
with the degrees of freedom of the sum (Welch-Satterthwaite), so that few models give a wide
interval. With two models only units can be left out, and the interval describes this pair; a model
that all pairs share stays in all replicates, and the interval is that of its pairs. The
interval of a difference uses the same replicates, so that variation shared by two maps cancels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from core.maths.evaluation.scoring import normalised
from core.maths.statistics import LEVEL, corrected_level, jackknife_variance, t_interval


@dataclass(frozen=True)
class Replicates:
    """A statistic and its jackknife replicates, without each model and each held-out unit; columns
    are layers.

    `models` has no rows where there are two models. Units without test rows are omitted.
    """

    point: Float[np.ndarray, " layer"]
    models: Float[np.ndarray, "model layer"]
    units: Float[np.ndarray, "unit layer"]

    def mean(self, chosen: Bool[np.ndarray, " layer"] | None = None) -> Replicates:
        """Average over layers: over those chosen, or over all where none is."""
        places = slice(None) if chosen is None or not chosen.any() else chosen
        parts = vars(self.at_layers(places)).values()
        return Replicates(*(part.mean(-1, keepdims=True) for part in parts))

    def at_layers(self, places: Any) -> Replicates:
        """Choose layers, by an index that keeps their axis."""
        return Replicates(*(part[..., places] for part in vars(self).values()))

    def __sub__(self, other: Replicates) -> Replicates:
        """Subtract another map on the same pairs and rows."""
        return Replicates(
            self.point - other.point, self.models - other.models, self.units - other.units
        )

    def band(self, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
        """Compute the lower and upper end of the interval, (layer,); NaN where nothing can be left
        out."""
        return self._band(self._sources(), level)

    def columns(self, name: str, level: float = LEVEL) -> dict[str, np.ndarray]:
        """Return columns of a table: the statistic under a name, and the ends of its interval."""
        low, high = self.band(level)
        return {name: self.point, "low": low, "high": high}

    def lowest(self) -> Bool[np.ndarray, " layer"]:
        """Find the layers that are not detectably above the lowest; the intervals of their
        differences from it hold together (Bonferroni)."""
        gap = self - self.at_layers([int(np.argmin(self.point))])
        low, _ = gap.band(corrected_level(len(self.point) - 1))
        return ~(low > 0)

    def band_of_difference(self, other: Replicates) -> tuple[np.ndarray, np.ndarray]:
        """Compute the interval of self - other, maps of different models on the same rows: models
        are independent."""
        point, units = self.point - other.point, self.units - other.units
        apart = [source for replicates in (self, other) for source in replicates._sources()[1:]]
        return Replicates(point, self.models[:0], units)._band([_source(units), *apart], LEVEL)

    def _sources(self) -> list[tuple[np.ndarray, int]]:
        return [_source(self.units), *([_source(self.models)] if len(self.models) else [])]

    def _band(
        self, sources: list[tuple[np.ndarray, int]], level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        if sources[0][1] < 1:
            return np.full_like(self.point, np.nan), np.full_like(self.point, np.nan)
        variances, degrees = zip(*sources, strict=True)
        return t_interval(self.point, variances, degrees, level)


def leave_out(
    error: Float[np.ndarray, "pair layer unit"],
    spread: Float[np.ndarray, "pair layer unit"],
    pairs: Sequence[tuple[str, str]],
) -> Replicates:
    """Compute the normalised error averaged over pairs, and its jackknife replicates.

    Args:
        error: Summed squared error of each pair on each held-out unit.
        spread: Summed squared distance from the training mean of each pair on each held-out unit.
        pairs: (source, target) of each pair.
    """
    nmse = normalised(error.sum(-1), spread.sum(-1))
    models = sorted({model for pair in pairs for model in pair})
    every = [[model not in pair for pair in pairs] for model in models] if len(models) > 2 else []
    without = [some for some in every if any(some)]
    used = (spread > 0).any((0, 1))
    left = normalised(*(sums.sum(-1, keepdims=True) - sums[..., used] for sums in (error, spread)))
    return Replicates(
        nmse.mean(0),
        np.array([nmse[kept].mean(0) for kept in without]).reshape(-1, nmse.shape[-1]),
        left.mean(0).T,
    )


def _source(replicates: np.ndarray) -> tuple[np.ndarray, int]:
    """A jackknife variance and its degrees of freedom."""
    if len(replicates) < 2:
        return np.zeros(replicates.shape[-1]), 0
    return jackknife_variance(replicates), len(replicates) - 1
