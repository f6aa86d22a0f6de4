"""Tidy tables of the test of rotations: errors, their differences, and spectra.

`values` maps (first, second) to the output of `tasks.compare_rotation`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.evaluation.bands import Replicates
from core.maths.statistics import interval
from core.studies.alignment.seeds.tables import OVERALL, cells, estimates_of
from extras.alignment.rotation.tasks import LINEAR, MAPS, ROTATION

Values = Mapping[tuple[str, str], Value]
ERRORS = ("method", "split", "layer", "nmse", "low", "high")
GAPS = ("layer", "difference", "low", "high", "planted", "planted_low", "planted_high")
SPECTRA = ("layer", "direction", "singular_value", "planted", "planted_low", "planted_high")
TRAINED = ALL = 0  # the first part and the first subset of `nmse`


def error_tables(values: Values) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the tables of errors (ERRORS), with no interval in-sample, and of the rotation's error
    minus ridge's (GAPS), averaged over pairs and directions; layer -1 is the mean over layers."""
    frames, tested = [], {}
    estimates = estimates_of({("models", *pair, MAPS): value for pair, value in values.items()})
    layers = np.arange(_depth(values))
    for name in MAPS:
        _, _, tested[name] = estimates["models", name, "all"]
        inside = np.mean(
            [each[f"{name}/nmse"][:, TRAINED, ALL, : len(layers)] for each in values.values()],
            axis=(0, 1),
        )
        nmse = np.append(inside, inside.mean())
        columns = {"layer": np.append(layers, OVERALL), "nmse": nmse, "low": np.nan, "high": np.nan}
        frames.append(pd.DataFrame({"method": name, "split": "train", **columns}))
        frames.append(_banded(tested[name], layers, "nmse").assign(method=name, split="test"))
    gap = tested[ROTATION] - tested[LINEAR]
    gaps = _banded(gap, layers, "difference")
    drawn = np.concatenate([each["planted_gap"][..., : len(layers)] for each in values.values()])
    by_draw = drawn.mean(0)  # over pairs and directions
    planted = np.column_stack([by_draw, by_draw.mean(1)])
    low, high = interval(planted)
    gaps = gaps.assign(planted=planted.mean(0), planted_low=low, planted_high=high)
    return pd.concat(frames, ignore_index=True)[list(ERRORS)], gaps[list(GAPS)]


def spectrum_table(values: Values) -> pd.DataFrame:
    """Make the table (SPECTRA) of ridge's singular values, averaged over pairs and directions."""
    depth = _depth(values)
    width = min(each["spectrum"].shape[-1] for each in values.values())
    seen = np.mean([each["spectrum"][:, :depth, :width] for each in values.values()], axis=(0, 1))
    planted = np.mean(
        [each["planted_spectrum"][:, :, :depth, :width].mean(0) for each in values.values()], axis=0
    )
    low, high = interval(planted)
    columns = dict(zip(SPECTRA[2:], (seen, planted.mean(0), low, high), strict=True))
    return cells({"layer": range(depth), "direction": range(1, width + 1)}, columns)


def _depth(values: Values) -> int:
    return min(len(each["layers"]) for each in values.values())


def _banded(estimate: Replicates, layers: np.ndarray, column: str) -> pd.DataFrame:
    """Make rows of an estimate by layer and, last, averaged over layers, with intervals."""
    frames = [
        pd.DataFrame({"layer": places, **part.columns(column)})
        for part, places in ((estimate, layers), (estimate.mean(), np.array([OVERALL])))
    ]
    return pd.concat(frames, ignore_index=True)
