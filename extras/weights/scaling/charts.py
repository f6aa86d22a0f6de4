"""The figure of scaled directions: a panel for each model and metric."""

from __future__ import annotations

import pandas as pd

from core.errors import counted
from core.results.drawing.style import BLUE, GREEN, GREY, ORANGE
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Kind,
    Look,
    Panels,
    Plane,
    Result,
    labels_of,
    line_chart,
    short_names,
    span_of,
)
from extras.weights.scaling.tables import LOSS, SCALES, WAYS

ACROSS = 2  # panels beside each other: a score, and the loss
HEIGHT = 200.0
LOOKS = {
    WAYS["intruders"]: Look(BLUE),
    WAYS["random"]: Look(GREY, "square", (6, 4)),
    WAYS["other"]: Look(ORANGE, "diamond", (2, 3)),
    WAYS["shrunk"]: Look(GREEN, "triangle-up", (8, 3)),
}


def scaling_panels(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw a panel per model and metric: its value as directions are scaled from 1 to 0."""
    names = short_names(dict.fromkeys(result.table["model"]))
    drawn = [
        _scaled(rows, f"{names[str(model)]}: {metric}", str(metric), context=context)
        for (metric, model), rows in result.table.groupby(["metric", "model"], sort=False)
    ]
    return Panels(drawn, across=ACROSS, names=["scaling"] * len(drawn))


def _scaled(rows: pd.DataFrame, what: str, metric: str, *, context: Context) -> Chart:
    low, high = span_of(rows["low"], rows["high"])
    kind: Kind = "measure" if metric == LOSS else "share"
    title = f"{metric[0].upper()}{metric[1:]}" + (
        " (natural logarithm, nats)" if metric == LOSS else ""
    )
    plane = Plane(
        "scale",
        "value",
        "Scale of the directions (0 = removed)",
        title,
        low,
        high,
        (0.0, 1.0),
        kind=kind,
        height=HEIGHT,
        x_axis={"values": sorted(SCALES), "format": ".2~f", **labels_of("share")},
        context=context,
    )
    below = f"{counted(int(rows['scaled'].iloc[0]), 'direction')}; bands: 95 %"
    return line_chart(
        rows.assign(name=rows["way"].map(WAYS)), plane, LOOKS, what, below,
        line="Scaled", also=["scaling.scaled"],
    )  # fmt: skip
