"""The study's tables, from the outputs of its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.similarity.scoring import CALIBRATED, SCORED, calibrate
from core.maths.statistics import LEVEL, corrected_level, t_interval
from core.studies.rsa.layers.random_changes import TURNS
from core.studies.rsa.layers.runs import pooled_band

COLUMNS = ("model", "layer", "similarity", "low", "high", "null_low", "null_high")
RATIOS = ("model", "layer", "random_similarity", "ratio", "low", "high", "low_together", "runs")
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
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))


def grid_rows(grids: Mapping[str, Value]) -> pd.DataFrame:
    """Tabulate one row per model, layer of the base and layer of the model."""
    frames = []
    for ref, value in grids.items():
        matrix = np.asarray(value["similarity"])
        rows, columns = np.indices(matrix.shape)
        cells = {"base_layer": rows.ravel(), "layer": columns.ravel(), "similarity": matrix.ravel()}
        frames.append(pd.DataFrame({"model": ref, **cells}))
    empty = pd.DataFrame(columns=["model", "base_layer", "layer", "similarity"])
    return pd.concat(frames, ignore_index=True) if frames else empty


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
            upper = 2 * ratio - together
            together = _pooled(ratio, together, upper, level)[:1]
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
    empty = pd.DataFrame(columns=[*RATIOS])
    return pd.concat(frames, ignore_index=True)[[*RATIOS]] if frames else empty


def _pooled(ratio: np.ndarray, low: np.ndarray, high: np.ndarray, level: float) -> np.ndarray:
    """The ends of the bands of runs, each (run, layer), pooled: (end, layer)."""
    layers = zip(ratio.T, low.T, high.T, strict=True)
    return np.array([pooled_band(*layer, level) for layer in layers]).T
