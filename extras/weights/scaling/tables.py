"""The table of scaled directions: scores with their bands.

A score is the share of right answers, a loss the mean over masked subwords; sentences are resampled
with all of theirs, the same for every scale and way, so that a difference has no noise of what both
share. Random directions are averaged over their draws, which are a second source of error.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.resampled import Resampled
from core.maths.statistics import sentence_counts

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


def scaling_table(
    values: Mapping[str, Value], metrics: Mapping[str, str], seed: int
) -> pd.DataFrame:
    """Tabulate SCALING_COLUMNS by model, metric, way and scale: `change` is from the model as it
    is, `beyond` from the mean with random directions, `excess` from the whole update shrunk; the
    last two are NaN in other ways than intruders."""
    frames = [
        pd.DataFrame(
            {"model": model, "metric": metric, "way": way, "scale": SCALES}
            | {"scaled": value["scaled"]}
            | columns
        )
        for model, value in values.items()
        for metric, part, total in ((metrics[model], "hits", "total"), (LOSS, "losses", "tokens"))
        for way, columns in _ways(value, part, total, seed)
    ]
    empty = pd.DataFrame(columns=[*SCALING_COLUMNS])
    return pd.concat(frames, ignore_index=True)[[*SCALING_COLUMNS]] if frames else empty


def _ways(
    value: Value, part: str, total: str, seed: int
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """Columns of every way, (scale,), the first of which is the model as it is."""
    counts = np.asarray(value[total])
    resampled = sentence_counts(len(counts), DRAWS, np.random.default_rng(seed))
    means = {  # of one draw where nothing is drawn
        way: Resampled.of(
            np.atleast_3d(value[f"{way} {part}"].T).T, counts, resampled
        ).over_changes()
        for way in WAYS
        if f"{way} {part}" in value
    }
    for way, mean in means.items():
        columns = _interval("", mean) | _interval("change", mean.mapped(_from_the_first))
        for name, rival in (("beyond", "random"), ("excess", "shrunk")):
            if way == "intruders" and rival in means:
                columns |= _interval(name, mean - means[rival])
            else:
                nothing = np.full(len(SCALES), np.nan)
                columns |= dict.fromkeys((name, f"{name}_low", f"{name}_high"), nothing)
        yield way, columns


def _interval(name: str, mean: Resampled) -> dict[str, np.ndarray]:
    ends = (name, f"{name}_low", f"{name}_high") if name else ("value", "low", "high")
    return dict(zip(ends, mean.with_interval(), strict=True))


def _from_the_first(scores: np.ndarray) -> np.ndarray:
    difference: np.ndarray = scores - scores[..., :1]
    return difference
