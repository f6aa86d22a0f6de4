"""Charts of the intruder experiment: intruder dimensions by layer and family, and chance."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.models.weights.matrix_families import family_label
from core.results.drawing.style import DASHES, GREY, colours_of, shapes_of
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Panels,
    Place,
    Result,
    Tip,
    layer_chart,
    legend_strip,
    short_names,
    span_of,
    tip_of,
)

ACROSS = 3  # panels beside each other
NULL = "random update of equal norm"
TITLE = tip_of("intruders").title


def intruder_panels(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw a panel per family under one legend: a line per model, chance in grey."""
    table = result.tables["intruders"]
    looks, families = _looks(table), list(dict.fromkeys(table["family"]))
    drawn = [
        _panel(table, str(family), looks, Place(number, len(families), ACROSS), context=context)
        for number, family in enumerate(families)
    ]
    strip = legend_strip(looks, context=context)
    return Panels(drawn, across=ACROSS, strip=strip, names=["intruders"] * len(drawn))


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
