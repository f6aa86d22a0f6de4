"""Charts of the intruder experiment: intruder dimensions by layer and family, and chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.models.weights.families import family_label
from core.results.drawing.axes import layer_plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, finished
from core.results.drawing.panels import Panels, Place, legend_strip
from core.results.drawing.style import GREY, colours_of, shapes_of
from core.results.drawing.vega import Chart
from core.results.names import short_names
from core.results.numbers import Tip

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

ACROSS = 3  # panels beside each other
NULL = "random update of equal norm"
TITLE = "Intruder dimensions"


def intruder_panels(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw a panel per family under one legend: a line per model, chance in grey."""
    table = result.tables["intruders"]
    looks, families = _looks(table), list(dict.fromkeys(table["family"]))
    drawn = [
        _panel(table, str(family), looks, Place(number, len(families), ACROSS), context=context)
        for number, family in enumerate(families)
    ]
    return Panels(drawn, across=ACROSS, strip=legend_strip(looks, context=context))


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw intruder dimensions by family and depth."""
    return (
        {"intruders": intruder_panels(result, context=context).figure(context)}
        if len(result.tables["intruders"])
        else {}
    )


def _looks(table: pd.DataFrame) -> dict[str, Look]:
    """Choose how each model's line and chance look, by short name."""
    refs = list(dict.fromkeys(table["model"]))
    names, colours, shapes = short_names(refs), colours_of(refs), shapes_of(refs)
    return {names[ref]: Look(colours[ref], shapes[ref]) for ref in refs} | {
        NULL: Look(GREY, dash=(6, 4), point=False)
    }


def _panel(
    table: pd.DataFrame, family: str, looks: dict[str, Look], place: Place, *, context: Context
) -> Chart:
    import pandas as pd

    # the same in every panel
    ends = span_of(table["intruders"], table["null_mean"], [1], zero=True)
    rows = table[table["family"] == family]
    rows = rows.assign(name=rows["model"].map(short_names(dict.fromkeys(table["model"]))))
    null = rows.groupby("layer", as_index=False)["null_mean"].mean()
    drawn = pd.concat(
        [rows, null.assign(name=NULL, intruders=null["null_mean"])], ignore_index=True
    )
    plane = layer_plane(
        drawn,
        "intruders",
        TITLE,
        ends,
        x_title="Layer" * place.lowest,
        kind="whole",
        height=place.height,
        context=replace(context, unnamed=True),
    )
    tips = (
        *(Tip("name", "Model"), Tip("layer", "Layer", "whole"), Tip("intruders", TITLE, "measure")),
        *(Tip("null_mean", "Random update", "measure"), Tip("p_value", "p", "share")),
    )
    chart = curves(drawn, plane, looks, tips)
    what = family_label(family).capitalize()
    return finished(
        chart, drawn, plane, what, names=list(looks), said=f"Intruder dimensions, {family}",
        x_title="Layer", y_title="intruder dimensions", kind="measure",
    )  # fmt: skip
