"""Tidy tables of a study of polar probes, every number with its band.

Bands are made as in `core.maths.structural.bands`: all rows are scored on the same resamples of
the test sentences, and the spread over probes, or over draws of control labels, is in the band.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.maths.statistics import ratios
from core.maths.structural.bands import Group, Sample
from core.results.export import Result
from core.studies.probes.edges.tables import REAL, SELECTIVITY
from core.studies.probes.trees.tables import (
    at_control,
    metric_rows,
)

SCORES = ("model", "layer", "labels", "metric", "value", "low", "high", "dev", "probes", "sd")
LAS, UAS, UUAS, LABEL, DIRECTION = METRICS = ("las", "uas", "uuas", "label", "direction")
COUNTS = {LAS: "labelled", UAS: "directed", UUAS: "hits", LABEL: "named", DIRECTION: "oriented"}
NAMES = {
    LAS: "Labelled edges (LAS)",
    UAS: "Directed edges (UAS)",
    UUAS: "Edges (UUAS)",
    LABEL: "Labels of gold edges",
    DIRECTION: "Heads of gold edges",
}


def polar_groups(value: Value, sample: Sample, *, control: bool = False) -> dict[str, Group]:
    """Scores by metric in percent, of those that a task's output holds; with `control`, of probes
    on control labels."""
    count = int(np.max(value["draws"])) + 1
    layers = tuple(int(layer) for layer in np.asarray(value["layers"])[::count])
    dev = 100.0 * np.asarray(value.get("dev", np.full(len(layers) * count, np.nan)), np.float64)
    groups = {}
    for metric, name in COUNTS.items():
        if name not in value:
            continue
        above = np.asarray(value[name], dtype=np.float64)
        below = np.broadcast_to(np.asarray(value["edges"], dtype=np.float64), above.shape)
        share, drawn = ratios(above, below, sample.weights)
        points, resampled = 100.0 * share.reshape(len(layers), count), 100.0 * drawn
        group = Group(
            layers,
            layers,
            points,
            resampled.reshape(-1, len(layers), count),
            dev.reshape(len(layers), count).mean(axis=1),
            bounds=(0.0, 100.0),
        )
        groups[metric] = group.pooled(shared=control)
    return groups


def score_rows(
    model: str,
    labels: str,
    groups: Mapping[str, Group],
    sample: Sample,
    *,
    layered: bool = True,
    control: Mapping[str, Group] | None = None,
) -> list[pd.DataFrame]:
    """Rows of SCORES for one model, or for a baseline, whose rows have no layer.

    With `control` the rows are selectivity, at the layers of these: scores less those on control
    labels.
    """
    if control:
        groups = at_control(groups, control)
    return [
        metric_rows(
            sample, (1, group), *([(-1, control[metric])] if control else []),
            model=model, layer=group.layers if layered else None,
            labels=SELECTIVITY if control else labels, metric=metric,
            dev=np.nan if control else group.dev,
        )
        for metric, group in groups.items()
    ]  # fmt: skip


def best_row(table: pd.DataFrame, model: str, metric: str) -> pd.Series | None:
    """A model's row of a metric at the layer with the highest LAS on the development sentences."""
    rows = table[(table["model"] == model) & (table["labels"] == REAL)]
    rows = rows[(rows["metric"] == metric) & rows["dev"].notna()]
    return None if rows.empty else rows.loc[rows["dev"].idxmax()]


def rows_of(result: Result, metric: str = LAS) -> dict[str, pd.DataFrame]:
    """Rows of the tables that belong to one metric."""
    tables = {name: result.tables[name] for name in ("polar", "polar_margins", "best_layers")}
    return {name: table[table["metric"] == metric] for name, table in tables.items()}
