"""Charts of an edge-probing study: a panel per target, a curve per model, baselines in grey."""

from __future__ import annotations

from functools import partial

import pandas as pd

from core.studies.chart_kit import Panels, metric_of, short_names
from core.studies.kit import PAGE, Chart, Context, Result
from core.studies.probes.edges.tables import (
    ACCURACY,
    BITS,
    CONTROL,
    GAIN,
    NAMES,
    REAL,
    SELECTIVITY,
    SHOWN,
    UNSEEN,
    rows_of,
)
from core.studies.probes.edges.tasks import LOOKUP, MAJORITY, PLACES
from core.studies.probes.edges.text import first_stated
from core.studies.probes.trees.charts import (
    baseline_rules,
    chart_of_scores,
    gains_chart,
)
from core.studies.probes.trees.statements import leave_first
from core.studies.probes.trees.tables import TAGS, WINDOW, rows_where

HEIGHT = 268
VIEWS = {
    **{metric: metric_of(metric).label for metric in (ACCURACY, UNSEEN, BITS)},
    SELECTIVITY: "Selectivity: accuracy minus that on control labels, points",
    GAIN: metric_of(ACCURACY).difference("gain over the window"),
}
TITLES = {  # of the views, in the order of the page's control
    ACCURACY: "Accuracy",
    BITS: "Code length",
    SELECTIVITY: "Selectivity",
    UNSEEN: "Unseen words",
    GAIN: "Gain over the window",
}
ON_CONTROL = ", control labels"  # after a model's name
SHORT = {  # names of lines
    **SHOWN,
    MAJORITY: "majority",
    LOOKUP: "word-lookup",
    PLACES: "position-only",
}
DASHES = {
    MAJORITY: [2, 3],
    LOOKUP: [6, 4],
    PLACES: [8, 3, 2, 3],
    WINDOW: [1, 0],
    TAGS[1]: [2, 2, 8, 2],
}


def edges_chart(
    result: Result, target: str, view: str = ACCURACY, *, context: Context = PAGE
) -> Chart:
    """Draw one of the targets that are `drawable` in this view by layer."""
    title, label = NAMES[target].capitalize(), VIEWS[view]
    if view == GAIN:
        company = _rows(result, target, ACCURACY).dropna(subset=["layer"])["model"]
        rows = rows_where(rows_of(result, GAIN)["added"], probe=target)
        return gains_chart(result, rows, company, title, label, HEIGHT, context=context)
    rows = _rows(result, target, view)
    return chart_of_scores(
        rows,
        rows["labels"] == CONTROL,
        rows.dropna(subset=["layer"])["model"],
        title,
        label,
        "bands: 95 % intervals over sentences",
        "; dotted: control labels",
        ON_CONTROL,
        partial(baseline_rules, names=SHORT, dashes=DASHES),
        kind="gain" if view == SELECTIVITY else None,
        zero=view == SELECTIVITY,
        height=HEIGHT,
        context=context,
    )


def first_scores(result: Result, view: str = ACCURACY) -> Result:
    """Leave the models and the baselines that the headline compares with; no control labels."""
    if view in (SELECTIVITY, GAIN):
        return result
    return leave_first(result, "edges", "edge_margins", first_stated(result))


def drawable(result: Result, view: str) -> list[str]:
    """Targets that have scores in this view."""
    if view == GAIN:
        added = result.tables.get("added")
        return [] if added is None else [name for name in NAMES if (added["probe"] == name).any()]
    labels, metric = (SELECTIVITY, ACCURACY) if view == SELECTIVITY else (REAL, view)
    rows = rows_where(result.table, labels=labels, metric=metric)
    there = set(rows.loc[rows["layer"].notna(), "probe"])
    return [target for target in NAMES if target in there]


def draw_targets(result: Result, view: str = ACCURACY, *, context: Context = PAGE) -> Panels:
    """A panel for each target in one measure."""
    targets = drawable(result, view)
    charts = [edges_chart(result, target, view, context=context) for target in targets]
    return Panels(charts, across=3, names=[f"{target}-{view}" for target in targets])


def _rows(result: Result, target: str, view: str) -> pd.DataFrame:
    """The rows of a panel, with the models' short names."""
    names = short_names(dict.fromkeys(result.table["model"]))
    metric = ACCURACY if view == SELECTIVITY else view
    labels = [SELECTIVITY] if view == SELECTIVITY else [REAL] if view == UNSEEN else [REAL, CONTROL]
    rows = rows_where(result.table, probe=target, metric=metric)
    rows = rows[rows["labels"].isin(labels)]
    return rows.assign(name=rows["model"].map(names))
