"""Tidy tables and arrays from the outputs of the alignment study's tasks.

`values` maps (group, one, other, methods) to the output of `tasks.align_pair`; direction 0 is one
into other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from core.maths.arrays import Value
from core.maths.evaluation.bands import Replicates, leave_out
from core.maths.evaluation.scoring import SUBSETS
from core.maths.maps.registry import METHODS
from core.maths.statistics import LEVEL, corrected_level
from core.studies.alignment.seeds.spec import AlignSpec

Role = tuple[str, str, str, tuple[str, ...]]
Values = Mapping[Role, Value]
Kind = tuple[str, str, str]  # group, method, words
Ends = list[tuple[str, str]]  # source and target of each map
Estimates = Mapping[Kind, tuple[Ends, np.ndarray, Replicates]]  # with the layers
MEASURED = {
    "nmse": "nmse",
    "l2": "l2",
    "r2": "r2",
    "retrieval": "retrieval",
    "inverse": "inverse_error",
}
CHOSEN = ("reach", "penalty")  # on validation rows
COLUMNS = ("source", "target", "layer", "method", "split", "words", *MEASURED.values(), *CHOSEN)
KIND = ("group", "method", "words")
BANDS = (*KIND, "nmse", "low", "high")
COMPARED = ("group", "method", "other_group", "other_method", "words")
DIFFERENCES = (*COMPARED, "difference", "low", "high", "level")
RIVALS = ("ols", "ridge", "lookup", "static-window")
OVERALL = -1  # the layer of a mean over layers
GAINS = ("group", "gain", "words", "layer", "difference", "low", "high", "level")
GAIN_OF_LAYERS, GAIN_BESIDE = "state over window", "state beside window"
MAPS_OF_GAIN = {  # the map that gains, the one that it is compared with, both as charts name them
    GAIN_OF_LAYERS: ("kernel", "static-window", "hidden state over static window"),
    "window over word": ("static-window", "static-word", "static window over static word"),
    "window beside state": ("state-and-window", "kernel", "state and window over state"),
    GAIN_BESIDE: ("state-and-window", "static-window", "state and window over window"),
}
CURVES = ("source", "target", "method", "layer", "step", "training", "validation", "converged")


def error_table(values: Values) -> pd.DataFrame:
    """Make the table (COLUMNS) of each map's training and test errors on all, seen and unseen
    words."""
    frames = []
    for _, source, target, method, direction, value in _maps(values, "nmse"):
        axes = {"split": ("train", "test"), "words": SUBSETS, "layer": value["layers"]}
        keys = {name: f"{method}/{key}" for key, name in MEASURED.items()}
        keys |= {name: f"{method}/{name}" for name in CHOSEN if f"{method}/{name}" in value}
        frame = cells(axes, {name: value[key][direction] for name, key in keys.items()})
        frame = frame.assign(source=source, target=target, method=method)
        frames.append(frame.reindex(columns=COLUMNS).dropna(subset="nmse"))
    places = {method: number for number, method in enumerate(METHODS)}
    return joined(frames, COLUMNS).sort_values(
        "method", key=lambda names: names.map(places), kind="stable", ignore_index=True
    )


def training_table(values: Values) -> pd.DataFrame:
    """Make the table (CURVES) of each network's errors at each check, until it has converged."""
    frames = []
    for _, source, target, method, direction, value in _maps(values, "steps"):
        axes = {"step": value[f"{method}/steps"], "layer": value["layers"]}
        numbers = {
            name: value[f"{method}/{name}"][direction]
            for name in ("training", "validation", "converged")
        }
        frame = cells(axes, numbers).astype({"converged": bool})
        frame = frame.assign(source=source, target=target, method=method)
        frames.append(frame.dropna(subset="validation"))
    return joined(frames, CURVES)


def points_of(spec: AlignSpec, values: Values) -> dict[str, np.ndarray]:
    """Collect the projections of the first group, NaN where a pair or method has none:
    `source_points`, `target_points` (source, target, layer, point, 2) and `mapped_points` (method,
    source, target, layer, point, 2), in the order of the spec; empty without a pair."""
    group = [(role, value) for role, value in values.items() if role[0] == "models"]
    if not group:
        return {}
    count = len(spec.models)
    layers, points = (
        max(value["target_points"].shape[axis] for _, value in group) for axis in (1, 2)
    )
    shape = (count, count, layers, points, 2)
    source, target = (np.full(shape, np.nan, np.float32) for _ in range(2))
    mapped = np.full((len(spec.methods), *shape), np.nan, np.float32)
    for (_, first, second, methods), value in group:
        ends = spec.models.index(first), spec.models.index(second)
        for direction, pair in enumerate((ends, ends[::-1])):
            wholes = {"source_points": source[pair], "target_points": target[pair]}
            wholes |= {f"{name}/mapped": mapped[spec.methods.index(name)][pair] for name in methods}
            for name in wholes.keys() & value.keys():
                part = value[name][direction]
                wholes[name][: len(part), : part.shape[1]] = part
    return {"source_points": source, "target_points": target, "mapped_points": mapped}


def estimates_of(values: Values) -> Estimates:
    """Estimate the error of each map, by (group, method, words), with its jackknife replicates, the
    pairs and the layers that it was fitted for."""
    by_method: dict[tuple[str, str], list[tuple[tuple[str, str], int, Value]]] = {}
    for group, source, target, method, direction, value in _maps(values, "error"):
        by_method.setdefault((group, method), []).append(((source, target), direction, value))
    estimates = {}
    for (group, method), maps in by_method.items():
        depth = min(len(value["layers"]) for _, _, value in maps)
        ways = [(way, value) for _, way, value in maps]
        error, spread = (_sums_of(ways, name, depth) for name in (f"{method}/error", "spread"))
        ends, layers = [pair for pair, _, _ in maps], maps[0][2]["layers"][:depth]
        for words, sides in (("all", slice(0, 2)), ("seen", slice(0, 1)), ("unseen", slice(1, 2))):
            left, right = (part[:, sides].sum(1) for part in (error, spread))
            if right.any():
                estimates[group, method, words] = ends, layers, leave_out(left, right, ends)
    return estimates


def band_tables(
    spec: AlignSpec, estimates: Estimates
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Make tables of errors with intervals by layer and (BANDS) over all layers, of differences
    (DIFFERENCES), and of gains (GAINS)."""
    by_layer, overall = [], []
    for kind, (_, layers, estimate) in estimates.items():
        named = dict(zip(KIND, kind, strict=True))
        columns = {"layer": layers, **estimate.columns("nmse"), "tied": estimate.lowest()}
        by_layer.append(pd.DataFrame({**named, **columns}))
        overall.append(pd.DataFrame({**named, **estimate.mean().columns("nmse")}))
    places = {name: n for names in (spec.groups, SUBSETS) for n, name in enumerate(names)}
    return (
        joined(by_layer, (*KIND, "layer", "nmse", "low", "high", "tied")),
        joined(overall, BANDS).sort_values(
            ["group", "words", "nmse"],
            key=lambda column: column if column.name == "nmse" else column.map(places),
            ignore_index=True,
        ),
        _differences(estimates),
        _gains(estimates),
    )


def _gains(estimates: Estimates) -> pd.DataFrame:
    """Make GAINS: how much lower one map's error is than another's of the same rows, layer by layer
    and over all that are run (layer -1), which layer 0 is not; positive is better."""
    frames = []
    for (group, method, words), (ends, layers, estimate) in estimates.items():
        for gain, (better, rival, _) in MAPS_OF_GAIN.items():
            rival_ends, _, rival_estimate = estimates.get(
                (group, rival, words), ([], layers, estimate)
            )
            if method != better or rival_ends != ends:
                continue
            difference = rival_estimate - estimate
            run = layers > 0
            each = corrected_level(int(run.sum()))  # the headline says which layers gain
            whole = difference.mean(run), np.array([OVERALL]), LEVEL
            for part, places, level in ((difference, layers, each), whole):
                columns = {"layer": places, **part.columns("difference", level), "level": level}
                frames.append(
                    pd.DataFrame({"group": group, "gain": gain, "words": words, **columns})
                )
    return joined(frames, GAINS)


def _differences(estimates: Estimates) -> pd.DataFrame:
    """Make DIFFERENCES: every map compared with `RIVALS` in its group, and every map of another
    group with the first."""
    means = {kind: (ends, estimate.mean()) for kind, (ends, _, estimate) in estimates.items()}
    rows: list[tuple[object, ...]] = []
    for (group, method, words), (ends, mean) in means.items():
        bent = METHODS[method].kind == "non-linear"
        tried = sum(
            METHODS[m].kind == "non-linear" for g, m, w in means if (g, w) == (group, words)
        )
        for rival in RIVALS:
            pairs, rival_mean = means.get((group, rival, words), ([], mean))
            if rival == method or pairs != ends:
                continue  # one of the two failed on some pairs, so the rows differ
            # the headline names the best of the non-linear maps
            level = corrected_level(tried) if bent and rival == "ridge" else LEVEL
            gap = mean - rival_mean
            band = gap.band(level)
            rows.append((group, method, group, rival, words, *gap.point, *band[0], *band[1], level))
        _, first = means.get(("models", method, words), (ends, mean))
        if group != "models" and first is not mean and first.units.shape == mean.units.shape:
            gap, (low, high) = mean.point - first.point, mean.band_of_difference(first)
            rows.append((group, method, "models", method, words, *gap, *low, *high, LEVEL))
    return pd.DataFrame(rows, columns=list(DIFFERENCES))


def _maps(values: Values, part: str) -> Iterator[tuple[str, str, str, str, int, Value]]:
    """Give every map that has a part, such as its "nmse": (group, source, target, method,
    direction, value)."""
    for (group, left, right, methods), value in values.items():
        for direction, (source, target) in enumerate(((left, right), (right, left))):
            for method in methods:
                if f"{method}/{part}" in value:
                    yield group, source, target, method, direction, value


def cells(
    axes: Mapping[str, Sequence[object] | np.ndarray], values: Mapping[str, ArrayLike]
) -> pd.DataFrame:
    """Make a row for each cell of arrays that have these axes, in this order, or the last of them.

    Example:
        >>> cells({"split": ("train", "test"), "layer": (0, 1)}, {"nmse": [0.5, 0.25]})
           split  layer  nmse
        0  train      0  0.50
        1  train      1  0.25
        2   test      0  0.50
        3   test      1  0.25
    """
    index = pd.MultiIndex.from_product(axes.values(), names=list(axes))
    shape = [len(places) for places in axes.values()]
    columns = {name: np.broadcast_to(array, shape).ravel() for name, array in values.items()}
    return index.to_frame(index=False).assign(**columns)


def joined(frames: Sequence[pd.DataFrame], columns: Sequence[str]) -> pd.DataFrame:
    """Join frames to a table of these columns, which may have no rows."""
    empty = [pd.DataFrame(columns=list(columns))]
    return pd.concat(frames or empty, ignore_index=True)[list(columns)]


def rows_between(table: pd.DataFrame, words: str, group: str = "models") -> pd.DataFrame:
    """Choose the rows of one group of pairs, on "all", "seen" or "unseen" words."""
    return table[(table["group"] == group) & (table["words"] == words)]


def held_out(errors: pd.DataFrame, models: Sequence[str], words: str) -> pd.DataFrame:
    """Choose the held-out errors between these models, on one kind of words."""
    rows = errors[(errors["split"] == "test") & (errors["words"] == words)]
    return rows[rows[["source", "target"]].isin(models).all(axis=1)]


def pair_errors(held: pd.DataFrame, method: str) -> pd.Series:
    """Average a map's held-out errors over layers, by (source, target)."""
    rows = held[held["method"] == method]
    return rows.groupby(["source", "target"], sort=False)["nmse"].mean()


def _sums_of(ways: Sequence[tuple[int, Value]], name: str, depth: int) -> np.ndarray:
    """Collect the sums of this name per unit of several maps, (map, 2, layer, unit), of which each
    is a direction and the output that holds it; on the units of all, as a pair whose models leave
    words out has fewer."""
    units = np.unique(np.concatenate([value["units"] for _, value in ways]))
    sums = np.zeros((len(ways), 2, depth, len(units)))
    for whole, (way, value) in zip(sums, ways, strict=True):
        whole[..., np.searchsorted(units, value["units"])] = value[name][way][:, :depth]
    return sums
