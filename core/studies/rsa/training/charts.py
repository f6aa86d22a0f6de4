"""Charts of a training run: similarity to the final model by tokens seen, a line per layer, and the
loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.maths.similarity.registry import MEASURES
from core.results.drawing.axes import rule, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, graded
from core.results.drawing.style import DASHES, GREY
from core.results.drawing.training import (
    along_training,
    loss_chart,
    named_steps,
    step_tips,
    stepped,
)
from core.results.drawing.vega import Chart
from core.results.names import short_name, short_names

if TYPE_CHECKING:
    import pandas as pd

    from core.results.drawing.axes import Plane
    from core.results.export import Result

HEIGHT = 260


def training_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw a line per layer with its band, rings round the most similar layer, other runs as dashed
    rules.

    Args:
        result: Of the training study.
    """
    import pandas as pd

    table, label = result.table, MEASURES[result.spec["measure"]].label
    ends = span_of(table["low"], table["similarity"], zero=True, top=1.0)
    rows, plane = along_training(
        table, "similarity", f"{label} with the final model", ends, height=HEIGHT, context=context
    )
    layers = sorted({int(layer) for layer in table["layer"]})
    last = max(layers)
    rows = named_steps(rows).assign(name=[f"layer {layer:.0f}" for layer in rows["layer"]])
    looks = graded([f"layer {layer}" for layer in layers], point=False)
    parts = [rows]
    unrelated = result.tables.get("others")
    tops = unrelated[unrelated["layer"] == last] if unrelated is not None else table.iloc[:0]
    names = short_names(tops["model"])
    for number, row in enumerate(tops.itertuples()):
        name = f"{names[row.model]}, layer {last}"
        parts.append(
            rule(plane, name, float(row.similarity)).assign(step=names[row.model], layer=last)
        )
        looks[name] = Look(
            GREY, dash=DASHES[number % len(DASHES)], point=False, band=False, width=1.5
        )
    drawn = pd.concat(parts, ignore_index=True)
    peaks, _ = along_training(result.tables["peaks"], "similarity", "", ends, context=context)
    chart = curves(
        drawn, plane, looks, step_tips("similarity", label, "share"), under=[marked(peaks, plane)]
    )
    dashed = "; dashed: another run's final model" if len(tops) else ""
    below = f"rings: the most similar layer; bands: 95 %, over sentences{dashed}"
    title = f"Checkpoints compared with the final model, {short_name(str(result.spec['end']))}"
    return stepped(chart, drawn, plane, title, below, list(looks))


def marked(rows: pd.DataFrame, plane: Plane) -> Any:
    """Make a ring round each row's point, for `under` of `curves`."""

    def make(x: dict[str, Any]) -> Any:
        rings = Chart(rows).mark_point(
            size=130, strokeWidth=1.6, color=GREY, filled=False, opacity=1
        )
        return rings.encode(x=x, y=plane.y_of())

    return make


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw every chart that the result has the numbers for, by file name; the main one first."""
    if result.table.empty:
        return {}
    charts: dict[str, Chart] = {"training": training_chart(result, context=context)}
    if len(result.tables["loss"]) > 1:
        charts["training-loss"] = loss_chart(result.tables["loss"], context=context)
    return charts
