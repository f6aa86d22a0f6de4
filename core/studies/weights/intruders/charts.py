"""Charts of the intruder experiment: intruder dimensions by layer and family, and chance."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.errors import counted
from core.models.weights.families import family_label
from core.results.drawing.style import BLUE, DASHES, GREEN, GREY, ORANGE, colours_of, shapes_of
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Kind,
    Look,
    Panels,
    Place,
    Plane,
    Result,
    Tip,
    layer_chart,
    legend_strip,
    line_chart,
    short_names,
    span_of,
    tip_of,
)
from core.studies.weights.intruders.tables import LOSS, SCALES, WAYS

ACROSS = 3  # panels beside each other
NULL = "random update of equal norm"
TITLE = tip_of("intruders").title
SCALED_HEIGHT = 200.0
SCALED_LOOKS = {
    WAYS["intruders"]: Look(BLUE),
    WAYS["random"]: Look(GREY, "square", (6, 4)),
    WAYS["other"]: Look(ORANGE, "diamond", (2, 3)),
    WAYS["shrunk"]: Look(GREEN, "triangle-up", (8, 3)),
}


def intruder_panels(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw a panel per family under one legend: a line per model, chance in grey."""
    table = result.tables["intruders"]
    looks, families = _looks(table), list(dict.fromkeys(table["family"]))
    drawn = [
        _panel(table, str(family), looks, Place(number, len(families), ACROSS), context=context)
        for number, family in enumerate(families)
    ]
    return Panels(drawn, across=ACROSS, strip=legend_strip(looks, context=context))


def draw_view(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw intruder dimensions by family and depth, and what scaling them does where it was
    measured."""
    panels, scaled = (
        intruder_panels(result, context=context), scaling_charts(result, context=context)
    )  # fmt: skip
    names = ["intruders"] * len(panels.charts) + ["scaling"] * len(scaled)
    return replace(panels, charts=[*panels.charts, *scaled], names=names)


def scaling_charts(result: Result, *, context: Context = PAGE) -> list[Chart]:
    """Draw a panel per model and metric: its value as directions are scaled from 1 to 0."""
    table = result.tables.get("scaling")
    if table is None:
        return []
    names = short_names(dict.fromkeys(table["model"]))
    return [
        _scaled(rows, f"{names[str(model)]}: {metric}", str(metric), context=context)
        for (metric, model), rows in table.groupby(["metric", "model"], sort=False)
    ]


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
        height=SCALED_HEIGHT,
        x_axis={"values": sorted(SCALES), "format": "~g"},
        context=context,
    )
    below = f"{counted(int(rows['scaled'].iloc[0]), 'direction')}; bands: 95 %"
    return line_chart(
        rows.assign(name=rows["way"].map(WAYS)), plane, SCALED_LOOKS, what, below,
        line="Scaled", also=["scaling.scaled"],
    )  # fmt: skip


def _looks(table: pd.DataFrame) -> dict[str, Look]:
    """Choose how each model's line and chance look, by short name."""
    refs = list(dict.fromkeys(table["model"]))
    names, colours, shapes = short_names(refs), colours_of(refs), shapes_of(refs)
    alike = [colours[ref] for ref in refs]  # models of one task have its colour: dashes set apart
    dashes = [((1, 0), *DASHES)[alike[:at].count(alike[at]) % 4] for at in range(len(refs))]
    return {
        names[ref]: Look(colours[ref], shapes[ref], dash)
        for ref, dash in zip(refs, dashes, strict=True)
    } | {NULL: Look(GREY, dash=(6, 4), point=False)}


def _panel(
    table: pd.DataFrame, family: str, looks: dict[str, Look], place: Place, *, context: Context
) -> Chart:
    rows = table[table["family"] == family]
    rows = rows.assign(name=rows["model"].map(short_names(dict.fromkeys(table["model"]))))
    null = rows.groupby("layer", as_index=False)["null_mean"].mean()
    drawn = pd.concat(
        [rows, null.assign(name=NULL, intruders=null["null_mean"])], ignore_index=True
    )
    return layer_chart(
        drawn,
        "intruders",
        looks,
        family_label(family).capitalize(),
        x_title="Layer" * place.lowest,
        ends=span_of(table["intruders"], table["null_mean"], [1], zero=True),  # of every panel
        tips=(Tip("name", "Model"), "layer", Tip("intruders", TITLE, "measure")),
        also=["null_mean", "families.p_value"],
        words={"what": f"{TITLE}, {family}", "kind": "measure"},
        height=place.height,
        context=replace(context, unnamed=True),
    )
