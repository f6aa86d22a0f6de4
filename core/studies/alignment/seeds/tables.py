"""Tidy tables and arrays from the outputs of the alignment study's tasks.

`values` maps (group, one, other, methods) to the output of `tasks.align_pair`; direction 0 is one
into other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.evaluation.scoring import WORDS
from core.maths.maps.registry import METHODS
from core.maths.statistics import LEVEL, corrected_level
from core.studies.alignment.seeds.bands import Replicates, leave_out
from core.studies.alignment.seeds.spec import AGAIN, AlignSpec

Role = tuple[str, str, str, tuple[str, ...]]
Values = Mapping[Role, Value]
Kind = tuple[str, str, str]  # group, method, words
Ends = list[tuple[str, str]]  # source and target of each map
MEASURED = {
    "nmse": "nmse",
    "l2": "l2",
    "r2": "r2",
    "retrieval": "retrieval",
    "inverse": "inverse_error",
}
CHOSEN = ("reach", "penalty")  # on validation rows
COLUMNS = ("source", "target", "layer", "method", "split", "words", *MEASURED.values(), *CHOSEN)
BANDS = ("group", "method", "words", "nmse", "low", "high")
DIFFERENCES = (
    *("group", "method", "other_group", "other_method", "words"),
    *("difference", "low", "high", "level"),
)
RIVALS = ("ols", "ridge", "lookup", "static-window")
OVERALL = -1  # the layer of a mean over layers
GAINS = ("group", "gain", "words", "layer", "difference", "low", "high", "level")
GAIN_OF_LAYERS, GAIN_BESIDE = "state over window", "state beside window"
# the name of a gain -> the map that gains and the one that it is compared with
MAPS_OF_GAIN = {
    GAIN_OF_LAYERS: ("kernel", "static-window"),
    "window over word": ("static-window", "static-word"),
    "window beside state": ("state-and-window", "kernel"),
    GAIN_BESIDE: ("state-and-window", "static-window"),
}
CURVES = ("source", "target", "method", "layer", "step", "training", "validation", "converged")


def error_table(values: Values) -> pd.DataFrame:
    """Make the table (COLUMNS) of each map's training and test errors on all, seen and unseen
    words."""
    frames = []
    for _, source, target, method, direction, value in _maps(values, "nmse"):
        shape = value[f"{method}/nmse"][direction].shape
        part, words, place = (index.ravel() for index in np.indices(shape))
        columns = {
            name: value[f"{method}/{key}"][direction].ravel() for key, name in MEASURED.items()
        }
        columns |= {
            name: value[key][direction][place] if (key := f"{method}/{name}") in value else np.nan
            for name in CHOSEN
        }
        frame = pd.DataFrame(
            {
                "source": source,
                "target": target,
                "layer": value["layers"][place],
                "method": method,
                "split": np.array(["train", "test"])[part],
                "words": np.array(WORDS)[words],
                **columns,
            }
        )
        frames.append(frame.dropna(subset=["nmse"]))
    order = {method: number for number, method in enumerate(METHODS)}
    return joined(frames, COLUMNS).sort_values(
        "method", key=lambda names: names.map(order), kind="stable", ignore_index=True
    )


def training_table(values: Values) -> pd.DataFrame:
    """Make the table (CURVES) of each network's errors at each check, until it has converged."""
    frames = []
    for _, source, target, method, direction, value in _maps(values, "steps"):
        validation = value[f"{method}/validation"][direction]
        check, place = (index.ravel() for index in np.indices(validation.shape))
        frame = pd.DataFrame(
            {
                "source": source,
                "target": target,
                "method": method,
                "layer": value["layers"][place],
                "step": value[f"{method}/steps"][check],
                "training": value[f"{method}/training"][direction].ravel(),
                "validation": validation.ravel(),
                "converged": value[f"{method}/converged"][direction].astype(bool)[place],
            }
        )
        frames.append(frame.dropna(subset=["validation"]))
    return joined(frames, CURVES)


def grid_table(nmse: np.ndarray) -> pd.DataFrame:
    """Make the table source_layer, target_layer, nmse from errors of shape (source layer, target
    layer)."""
    source, target = (index.ravel() for index in np.indices(nmse.shape))
    return pd.DataFrame({"source_layer": source, "target_layer": target, "nmse": nmse.ravel()})


def points_of(spec: AlignSpec, values: Values) -> dict[str, np.ndarray]:
    """Collect the projections of the first group, NaN where a pair or method has none.

    Returns:
        `source_points` and `target_points` (source, target, layer, point, 2) and `mapped_points`
        (method, source, target, layer, point, 2), models and methods in the order of the spec;
        empty without a pair.
    """
    group = [(role, value) for role, value in values.items() if role[0] == "models"]
    if not group:
        return {}
    layers, points = (
        max(value["target_points"].shape[axis] for _, value in group) for axis in (1, 2)
    )
    count = len(spec.models)
    source, target = (
        np.full((count, count, layers, points, 2), np.nan, np.float32) for _ in range(2)
    )
    mapped = np.full((len(spec.methods), count, count, layers, points, 2), np.nan, np.float32)
    for (_, first, second, methods), value in group:
        ends = spec.models.index(first), spec.models.index(second)
        for direction, (start, end) in enumerate((ends, ends[::-1])):
            _place(target[start, end], value["target_points"][direction])
            if "source_points" in value:
                _place(source[start, end], value["source_points"][direction])
            for method in methods:
                if f"{method}/mapped" in value:
                    _place(
                        mapped[spec.methods.index(method), start, end],
                        value[f"{method}/mapped"][direction],
                    )
    return {"source_points": source, "target_points": target, "mapped_points": mapped}


def band_tables(
    spec: AlignSpec, values: Values
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Make tables of errors with intervals by layer and over all layers, of differences, and of
    gains."""
    estimates = dict(_replicates(values))
    by_layer = [
        pd.DataFrame(
            {
                **dict(zip(BANDS[:3], kind, strict=True)),
                "layer": layers,
                **estimate.columns("nmse"),
                "tied": estimate.lowest(),
            }
        )
        for kind, (_, layers, estimate) in estimates.items()
    ]
    means = {kind: (ends, estimate.mean()) for kind, (ends, _, estimate) in estimates.items()}
    overall: list[tuple[Any, ...]] = [
        (*kind, *_numbers(*mean.columns("nmse").values())) for kind, (_, mean) in means.items()
    ]
    groups = list(spec.groups)
    overall.sort(key=lambda row: (groups.index(row[0]), WORDS.index(row[2]), row[3]))
    return (
        joined(by_layer, (*BANDS[:3], "layer", *BANDS[3:], "tied")),
        pd.DataFrame(overall, columns=list(BANDS)),
        pd.DataFrame(_differences(means), columns=list(DIFFERENCES)),
        _gains(estimates),
    )


def _gains(estimates: Mapping[Kind, tuple[Ends, np.ndarray, Replicates]]) -> pd.DataFrame:
    """GAINS: how much lower one map's error is than another's, layer by layer and over all that are
    run (layer -1), which layer 0 is not.

    Positive is better. Both are maps of the same rows, so that what they share cancels from the
    band. Bands of single layers are simultaneous over those that are run (Bonferroni), because the
    headline says which of them gain.
    """
    frames = []
    for (group, method, words), (ends, layers, estimate) in estimates.items():
        for gain, (better, rival) in MAPS_OF_GAIN.items():
            rival_ends, _, rival_estimate = estimates.get((group, rival, words), ([], None, None))
            if method != better or rival_estimate is None or rival_ends != ends:
                continue
            difference = rival_estimate - estimate
            run = layers > 0
            each = corrected_level(int(run.sum()))
            whole = difference.mean(run), np.array([OVERALL]), LEVEL
            for part, places, level in ((difference, layers, each), whole):
                columns = {"layer": places, **part.columns("difference", level), "level": level}
                frames.append(
                    pd.DataFrame({"group": group, "gain": gain, "words": words, **columns})
                )
    return joined(frames, GAINS)


def _replicates(values: Values) -> Iterator[tuple[Kind, tuple[Ends, np.ndarray, Replicates]]]:
    """(group, method, words) with the pairs, the layers and the error's jackknife replicates."""
    by_method: dict[tuple[str, str], list[tuple[tuple[str, str], int, Value]]] = {}
    for group, source, target, method, direction, value in _maps(values, "error"):
        by_method.setdefault((group, method), []).append(((source, target), direction, value))
    for (group, method), maps in by_method.items():
        depth = min(len(value["layers"]) for _, _, value in maps)
        ways = [(way, value) for _, way, value in maps]
        error, spread = (sums_of(ways, name, depth) for name in (f"{method}/error", "spread"))
        ends, layers = [pair for pair, _, _ in maps], maps[0][2]["layers"][:depth]
        for words, sides in (("all", slice(0, 2)), ("seen", slice(0, 1)), ("unseen", slice(1, 2))):
            left, right = (part[:, sides].sum(1) for part in (error, spread))
            if right.any():
                yield (group, method, words), (ends, layers, leave_out(left, right, ends))


def _differences(
    estimates: Mapping[Kind, tuple[Ends, Replicates]],
) -> list[tuple[object, ...]]:
    """Every map compared with `RIVALS` in its group, and every map of another group with the
    first: DIFFERENCES.

    The intervals of the non-linear maps compared with ridge are simultaneous (Bonferroni), because
    the headline names the best of these maps.
    """
    rows: list[tuple[object, ...]] = []
    for (group, method, words), (ends, estimate) in estimates.items():
        rivals = METHODS[method].kind == "non-linear"
        tried = sum(
            METHODS[m].kind == "non-linear" for g, m, w in estimates if (g, w) == (group, words)
        )
        for rival in RIVALS:
            pairs, rival_estimate = estimates.get((group, rival, words), ([], None))
            if rival_estimate is None or rival == method or pairs != ends:
                continue  # one of the two failed on some pairs, so the rows differ
            level = corrected_level(tried) if rivals and rival == "ridge" else LEVEL
            difference = estimate - rival_estimate
            numbers = _numbers(difference.point, *difference.band(level))
            rows.append((group, method, group, rival, words, *numbers, level))
        if group in ("against", AGAIN) and ("models", method, words) in estimates:
            first = estimates["models", method, words][1]
            if first.units.shape == estimate.units.shape:
                band = estimate.band_of_difference(first)
                numbers = _numbers(estimate.point - first.point, *band)
                rows.append((group, method, "models", method, words, *numbers, LEVEL))
    return rows


def _numbers(*columns: np.ndarray) -> tuple[float, ...]:
    """The only number of each column."""
    return tuple(float(column[0]) for column in columns)


def _maps(values: Values, part: str) -> Iterator[tuple[str, str, str, str, int, Value]]:
    """(group, source, target, method, direction, value) of every map that has a part, such as its
    "nmse"."""
    for (group, left, right, methods), value in values.items():
        for direction, (source, target) in enumerate(((left, right), (right, left))):
            for method in methods:
                if f"{method}/{part}" in value:
                    yield group, source, target, method, direction, value


def joined(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Join frames to a table of these columns, which may have no rows."""
    empty = [pd.DataFrame(columns=list(columns))]
    return pd.concat(frames or empty, ignore_index=True)[list(columns)]


def rows_between(table: pd.DataFrame, words: str, group: str = "models") -> pd.DataFrame:
    """The rows of one group of pairs, on "all", "seen" or "unseen" words."""
    return table[(table["group"] == group) & (table["words"] == words)]


def sums_of(ways: Sequence[tuple[int, Value]], name: str, depth: int) -> np.ndarray:
    """Sums per unit of several maps, (map, 2, layer, unit), on the units of all: a pair whose
    models leave words out has fewer.

    Args:
        ways: The direction of each map in the output that holds it.
        name: Of the sums there.
        depth: Layers that all have.
    """
    units = np.unique(np.concatenate([value["units"] for _, value in ways]))
    sums = np.zeros((len(ways), 2, depth, len(units)))
    for whole, (way, value) in zip(sums, ways, strict=True):
        whole[..., np.searchsorted(units, value["units"])] = value[name][way][:, :depth]
    return sums


def _place(whole: np.ndarray, part: np.ndarray) -> None:
    whole[: part.shape[0], : part.shape[1]] = part
