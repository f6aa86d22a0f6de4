"""The table of scaled directions: scores with their bands.

A score is the share of right answers, a loss the mean over masked subwords; sentences are resampled
with all of theirs, the same for every scale and way, so that a difference has no noise of what both
share. Random directions are averaged over their draws, which are a second source of error.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.arrays import Value
from core.maths.statistics import ratios, sentence_counts, t_interval

SCALES = (1.0, 0.75, 0.5, 0.25, 0.0)  # from the model as it is to the directions removed
LOSS = "masked loss"
WAYS = {
    "intruders": "intruder dimensions",
    "random": "random directions",
    "other": "other directions",
    "shrunk": "whole update, shrunk by an equal norm",
}
DRAWS = 1000  # bootstrap draws over sentences
SCALING_COLUMNS = (
    *("model", "metric", "way", "scale", "scaled", "value", "low", "high"),
    *("change", "change_low", "change_high", "beyond", "beyond_low", "beyond_high"),
    *("excess", "excess_low", "excess_high"),
)
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class _Means:
    """Means of a way at every scale.

    Attributes:
        value: (scale,).
        drawn: Under every draw of sentences, (draw, scale).
        variance: Over draws of random directions, (scale,); 0 where nothing is drawn.
        degrees: Its degrees of freedom.
    """

    value: FloatArray
    drawn: FloatArray
    variance: FloatArray
    degrees: float


def scaling_table(
    values: Mapping[str, Value], metrics: Mapping[str, str], seed: int
) -> pd.DataFrame:
    """Tabulate SCALING_COLUMNS by model, metric, way and scale: `change` is from the model as it
    is, `beyond` from the mean with random directions, `excess` from the whole update shrunk; the
    last two are NaN in other ways than intruders."""
    rows: list[dict[str, Any]] = []
    for model, value in values.items():
        for metric, part, total in ((metrics[model], "hits", "total"), (LOSS, "losses", "tokens")):
            if f"intruders {part}" not in value:
                continue
            counts = np.asarray(value[total])
            resampled = sentence_counts(len(counts), DRAWS, np.random.default_rng(seed))
            means = {
                way: _means(np.atleast_3d(value[f"{way} {part}"].T).T, counts, resampled)
                for way in WAYS
                if f"{way} {part}" in value
            }
            for way, mean in means.items():
                shared = {"model": model, "metric": metric, "way": way, "scaled": value["scaled"]}
                against = means["random"] if way == "intruders" else None
                shrunk = means.get("shrunk") if way == "intruders" else None
                new = _rows(mean, against, shrunk, len(counts) - 1)
                rows += [shared | row for row in new]
    return pd.DataFrame(rows, columns=[*SCALING_COLUMNS])


def _means(parts: FloatArray, counts: NDArray[np.int64], resampled: NDArray[np.int64]) -> _Means:
    """Average over sentences, then over draws of directions; `parts` is (draw, scale, sentence)."""
    values, drawn = ratios(parts, counts, resampled)
    if len(parts) == 1:
        return _Means(values[0], drawn[:, 0], np.zeros(len(values[0])), 1.0)
    variance = values.var(0, ddof=1) / len(parts)
    return _Means(values.mean(0), drawn.mean(1), variance, len(parts) - 1.0)


def _rows(
    mean: _Means, random: _Means | None, shrunk: _Means | None, degrees: float
) -> list[dict[str, Any]]:
    """Make a row per scale, the first of which is the model as it is."""
    freedom = [degrees, mean.degrees]
    low, high = t_interval(mean.value, [mean.drawn.var(0), mean.variance], freedom)
    change = mean.value - mean.value[0]
    moved = mean.drawn - mean.drawn[:, :1]
    changes = t_interval(change, [moved.var(0), mean.variance], freedom)
    columns = {
        "value": mean.value, "low": low, "high": high,
        "change": change, "change_low": changes[0], "change_high": changes[1],
    }  # fmt: skip
    none = np.full(len(SCALES), np.nan)
    for name, against in (("beyond", random), ("excess", shrunk)):
        columns |= dict.fromkeys((name, f"{name}_low", f"{name}_high"), none)
        if against is None:
            continue
        gap, sampled = mean.value - against.value, mean.drawn - against.drawn
        ends = t_interval(gap, [sampled.var(0), against.variance], [degrees, against.degrees])
        columns |= {name: gap, f"{name}_low": ends[0], f"{name}_high": ends[1]}
    return [
        {"scale": scale} | {name: float(column[at]) for name, column in columns.items()}
        for at, scale in enumerate(SCALES)
    ]
