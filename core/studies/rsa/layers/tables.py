"""The study's tables, from the outputs of its tasks; curves of runs of one task are pooled.

A pooled curve is the mean, with a band of two sources: the runs, and the sentences that all of them
share. Its chance level is the widest of the runs'.

Reference:
    Zou & Donner 2008, Construction of confidence limits about effect measures (half-widths of
    independent sources are added in squares).
Deviations: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.maths.arrays import Value
from core.maths.similarity.scoring import CALIBRATED, SCORED, calibrate
from core.maths.statistics import LEVEL, corrected_level, t_interval
from core.studies.rsa.layers.random_changes import TURNS

COLUMNS = ("model", "layer", "similarity", "low", "high", "null_low", "null_high")
RATIOS = ("model", "layer", "random_similarity", "ratio", "low", "high", "low_together", "runs")
GRID = ("model", "base_layer", "layer", "similarity")
CURVES = (*COLUMNS, "relative_change", "apart", "scaled", "runs", *CALIBRATED)


def with_calibrated(table: pd.DataFrame) -> pd.DataFrame:
    """Add the similarities calibrated by chance level (CALIBRATED) as the last columns."""
    return table.assign(**calibrate(*(table[name].astype(float) for name in SCORED)))


def curve_rows(values: Mapping[str, Value]) -> pd.DataFrame:
    """Tabulate one row per model and layer."""
    frames = [
        pd.DataFrame(
            {
                "model": ref,
                "layer": np.arange(len(value["similarity"])),
                **{c: value[c] for c in COLUMNS[2:]},
            }
        )
        for ref, value in values.items()
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=COLUMNS)


def grid_rows(grids: Mapping[str, Value]) -> pd.DataFrame:
    """Tabulate one row per model, layer of the base and layer of the model."""
    frames = []
    for ref, value in grids.items():
        rows, columns = np.indices(value["similarity"].shape)
        cells = (rows.ravel(), columns.ravel(), value["similarity"].ravel())
        frames.append(pd.DataFrame(dict(zip(GRID, (ref, *cells), strict=True))))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=GRID)


def ratio_rows(values: Mapping[str, Value], groups: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Tabulate RATIOS, a row per model and layer; of runs that are pooled, geometric means.
    `low_together` is of bands that hold for all layers of a model (Bonferroni), widened on the
    logarithm by Student's t with the degrees of freedom of the random changes alone."""
    frames = []
    for name, runs in groups.items():
        mine = [values[ref] for ref in runs if ref in values]
        if not mine:
            continue
        ratio, low, high = (
            np.log(np.stack([value[column] for value in mine])) for column in RATIOS[3:6]
        )
        moved = int(np.isfinite(ratio).all(0).sum())
        level, degrees = corrected_level(moved), [(TURNS - 1) * max(moved, 1)]
        wide, single = (t_interval(0.0, [1.0], degrees, each)[1] for each in (level, LEVEL))
        together = ratio + (low - ratio) * wide / single
        if len(mine) > 1:
            together = _pooled(ratio, together, 2 * ratio - together, level)[:1]
            low, high = _pooled(ratio, low, high, LEVEL)[:, None]
        columns = {
            "random_similarity": np.mean([value["random_similarity"] for value in mine], axis=0),
            **{
                at: np.exp(part.mean(0))
                for at, part in zip(RATIOS[3:7], (ratio, low, high, together), strict=True)
            },
        }
        layers = np.arange(ratio.shape[1])
        frames.append(pd.DataFrame({"model": name, "layer": layers, **columns, "runs": len(mine)}))
    return pd.concat(frames, ignore_index=True)[[*RATIOS]]


def _pooled(ratio: np.ndarray, low: np.ndarray, high: np.ndarray, level: float) -> np.ndarray:
    """The ends of the bands of runs, each (run, layer), pooled: (end, layer)."""
    layers = zip(ratio.T, low.T, high.T, strict=True)
    return np.array([pooled_band(*layer, level) for layer in layers]).T


def pool_rows(
    rows: pd.DataFrame, groups: Mapping[str, Sequence[str]], lowest: float
) -> pd.DataFrame:
    """Pool the curves of each group of runs into one, whose band does not go below the measure's
    lowest value; adds `runs`, how many models a row pools. A row of one model is as it was."""
    frames = []
    for name, runs in groups.items():
        mine = rows[rows["model"].isin(runs)]
        there = mine["model"].nunique()
        if there == 1:
            frames.append(mine.assign(runs=1))
        elif there:
            pooled = [_pool(name, layer, part, lowest) for layer, part in mine.groupby("layer")]
            frames.append(pd.DataFrame(pooled, columns=[*rows.columns, "runs"]))
    return (
        pd.concat(frames, ignore_index=True)
        if frames
        else rows.assign(runs=np.zeros(len(rows), dtype=int))
    )


def _pool(name: str, layer: Any, part: pd.DataFrame, lowest: float) -> dict[str, Any]:
    """Pool one layer of the runs of one task."""
    values = part["similarity"].to_numpy(dtype=float)
    point = float(values.mean())
    low, high = pooled_band(values, *(part[end].to_numpy(dtype=float) for end in ("low", "high")))
    return {
        "model": name,
        "layer": layer,
        "similarity": point,
        "low": max(low, min(lowest, point)),  # a similarity may leave the range by rounding
        "high": min(high, max(1.0, point)),
        "null_low": part["null_low"].min(),
        "null_high": part["null_high"].max(),
        "relative_change": part["relative_change"].mean(),
        "apart": part["apart"].mean(),
        "scaled": part["scaled"].mean(),
        "runs": len(values),
    }


def pooled_band(
    values: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    level: float = LEVEL,
) -> tuple[float, float]:
    """Compute the interval of the mean of two or more runs, (run,) each, over runs and the
    sentences that all of them share. With few runs, Student's t with Welch's degrees of freedom
    would cover as little as 88 % where runs vary more than sentences."""
    mean = float(values.mean())
    over_runs, _ = t_interval(mean, [values.var(ddof=1) / len(values)], [len(values) - 1], level)
    # A band's shorter side may be cut off at the end of the measure's range.
    over_sentences = np.maximum(values - low, high - values)
    half = float(np.sqrt((mean - over_runs) ** 2 + (over_sentences**2).mean()))
    return mean - half, mean + half
