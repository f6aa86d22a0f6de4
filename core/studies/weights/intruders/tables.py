"""Tables of the intruder experiment: rows by direction, by matrix, by family; the scores of scaled
directions, with their bands.

The threshold is applied here, so another threshold computes nothing.

Of scaled directions, a score is the share of right answers, a loss the mean over masked subwords;
sentences are resampled with all of theirs, the same for every scale and way, so that a difference
has no noise of what both share. Random directions are averaged over their draws, which are a second
source of error.

Reference: none. Deviations: none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.arrays import Value
from core.maths.spectra.intruders import direction_p_values
from core.maths.statistics import corrected, permutation_p, ratios, sentence_counts, t_interval

RARE = 0.01  # p-value below which a direction is more than chance
DIRECTION_COLUMNS = (
    "model",
    "family",
    "layer",
    "direction",
    "singular_value",
    "cosine",
    "p_value",
    "corrected_p",
    "intruder",
)
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


def direction_rows(
    value: Value, place: int, row: dict[str, Any], threshold: float, together: np.ndarray
) -> list[dict[str, Any]]:
    """Make a row per leading direction of a matrix; `together` are its p-values from
    `joint_p_values`."""
    seen = np.isfinite(value["cosines"][place])
    if not seen.any():
        return []
    cosines = value["cosines"][place][seen]
    p_values = direction_p_values(cosines, value["null"][place][:, seen])
    columns = zip(value["values"][place][seen], cosines, p_values, together[seen], strict=True)
    return [
        row | {
            "direction": number, "singular_value": float(size), "cosine": float(cosine),
            "p_value": float(p), "corrected_p": float(all_p), "intruder": bool(cosine < threshold),
        }
        for number, (size, cosine, p, all_p) in enumerate(columns, start=1)
    ]  # fmt: skip


def joint_p_values(value: Value, models: int) -> np.ndarray:
    """p-values that hold for all directions of all models, (matrix, direction); NaN without one.

    The lowest cosine of a draw over all matrices counts; then Bonferroni over the models.
    """
    cosines, null = value["cosines"], value["null"]
    every: np.ndarray = np.full(cosines.shape, np.nan)
    seen = np.isfinite(cosines)
    if seen.any():
        drawn = null.transpose(1, 0, 2)[:, seen]
        p_values = direction_p_values(cosines[seen], drawn)
        every[seen] = [corrected(float(p), models) for p in p_values]
    return every


def matrix_row(
    value: Value, place: int, directions: list[dict[str, Any]], null: np.ndarray
) -> dict[str, Any]:
    """Count a matrix's intruders beside those of random updates, `null` (draw,)."""
    count = sum(each["intruder"] for each in directions)
    return {
        "relative_norm": float(value["relative"][place]),
        "intruders": count,
        "rare": sum(each["intruder"] and each["p_value"] < RARE for each in directions),
        "null_mean": float(null.mean()) if directions else 0.0,
        "p_value": permutation_p(count, null) if directions else 1.0,
    }


def family_row(
    value: Value, of_family: np.ndarray, below: np.ndarray, threshold: float
) -> dict[str, Any]:
    """Count the intruders of a family's matrices beside those of random updates: `below` says which
    of their directions are intruders, (matrix, draw, direction)."""
    cosines = value["cosines"][of_family]
    count = int((cosines < threshold).sum())
    null = below[of_family].sum((0, 2))
    low, high = np.quantile(null, (0.025, 0.975))
    turned = value["turned"][of_family].sum(0)
    turned_low, turned_high = np.quantile(turned, (0.025, 0.975))
    return {
        "looked": int(np.isfinite(cosines).sum()),
        "intruders": count,
        "null_mean": float(null.mean()),
        "null_low": float(low),
        "null_high": float(high),
        "p_value": permutation_p(count, null),
        "turned_mean": float(turned.mean()),
        "turned_low": float(turned_low),
        "turned_high": float(turned_high),
        "turned_p": permutation_p(count, turned),
        "turned_draws": len(turned),
    }


def scaling_table(values: dict[str, Value], metrics: dict[str, str], seed: int) -> pd.DataFrame:
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
