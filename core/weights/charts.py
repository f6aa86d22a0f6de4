"""Charts of the weights room: the map of models, neighbours against chance, and all figures of a result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import SpecError
from core.results.charts import GREY, SHAPES, heading
from core.weights import rank_charts
from core.weights.chart_parts import group_names, legend, model_names, ordered, palette, vector_name
from core.weights.distance_charts import distances_chart
from core.weights.maps import METHODS
from core.weights.vectors import VECTORS

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

HEIGHT = 380
CHOSEN = "chosen"  # name of the selection on the map


def map_chart(result: Result, by: str = "label", chosen: str = "") -> alt.TopLevelMixin:
    """Every fine-tune as a point, coloured by a column of the table.

    Args:
        result: Of the weights study, with the map that it was drawn on last.
        by: Column of the main table: "label", "task", "data", "base" or "cluster".
        chosen: A model to ring.

    Raises:
        SpecError: If there is no such column.
    """
    import altair as alt

    if by not in result.table.columns:
        raise SpecError(f"Colour by one of label, task, data, base or cluster, not {by!r}.")
    table = result.table.assign(name=model_names(result), group=group_names(result.table[by], by))
    drawing = result.spec["map"]
    titles = [
        f"{axis} ({share:.0%} of squared distance)" if np.isfinite(share) else axis
        for axis, share in zip(_axes(drawing), result.arrays["explained"], strict=True)
    ]
    groups = ordered(table["group"])
    scale = _padded(table)
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title=titles[0], scale=scale[0], axis=alt.Axis(tickCount=5, grid=False)),
        y=alt.Y("y:Q", title=titles[1], scale=scale[1], axis=alt.Axis(tickCount=5, grid=False)),
    )
    pick = alt.selection_point(name=CHOSEN, fields=["model"], on="click", clear="dblclick")
    dots = base.mark_point(filled=True, size=150, opacity=0.9).encode(
        color=alt.Color("group:N", title=None, scale=palette(groups), legend=legend(groups)),
        shape=alt.Shape("group:N", title=None, scale=palette(groups, SHAPES)),
        tooltip=[
            alt.Tooltip("name:N", title="Model"),
            alt.Tooltip("label:N", title="Label"),
            alt.Tooltip("data:N", title="Data"),
            alt.Tooltip("nearest:N", title="Nearest"),
            alt.Tooltip("distance:Q", title="at", format=".3f"),
            alt.Tooltip("relative_delta:Q", title="Relative delta", format=".3f"),
        ],
    )
    layers = [dots.add_params(pick)]
    if chosen:
        ringed = base.transform_filter(alt.datum.model == chosen)
        layers.append(ringed.mark_point(size=420, filled=False, strokeWidth=2, color=GREY))
        layers.append(ringed.mark_text(dy=-18, fontSize=12, fontWeight="bold", color=GREY).encode(text="name:N"))
    return alt.layer(*layers).properties(
        width="container",
        height=HEIGHT,
        title=heading(f"{METHODS[drawing]} of {vector_name(result)}", _subtitle(drawing)),
    )


def neighbours_chart(result: Result) -> alt.LayerChart:
    """Share of same-label neighbours by k, one line per vector, over the band of permuted labels and exact chance.

    Raises:
        SpecError: If nothing could be scored.
    """
    import altair as alt

    table = result.tables["vectors"]
    if table.empty:
        raise SpecError("No neighbours were scored: labels are needed for three models or more.")
    names = {name: vector.title for name, vector in VECTORS.items()}
    table = table.assign(name=table["vector"].map(names), chosen=table["vector"] == result.spec["vector"])
    null = table[table["chosen"]].assign(kind="permuted labels, 95 %")
    shown = list(names.values())
    x = alt.X("k:Q", title="Nearest neighbours, k", axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    y_scale = alt.Scale(domain=[0, 1])
    band = (
        alt.Chart(null)
        .mark_area(opacity=0.35, color=GREY)
        .encode(
            x=x,
            y=alt.Y("null_low:Q", title="Share with the same label", scale=y_scale),
            y2="null_high:Q",
            fill=alt.Fill("kind:N", title=None, scale=alt.Scale(range=[GREY]), legend=_one_column(alt)),
        )
    )
    chance = alt.Chart(null).mark_line(color=GREY, strokeDash=[6, 4]).encode(x=x, y=alt.Y("chance:Q", scale=y_scale))
    lines = alt.Chart(table).encode(
        x=x,
        y=alt.Y("share:Q", title="Share with the same label", scale=y_scale, axis=alt.Axis(format="%")),
        color=alt.Color("name:N", title=None, scale=palette(shown), legend=legend(shown)),
        tooltip=[
            alt.Tooltip("name:N", title="Vector"),
            alt.Tooltip("k:Q"),
            alt.Tooltip("share:Q", title="Share", format=".1%"),
            alt.Tooltip("chance:Q", title="Chance", format=".1%"),
            alt.Tooltip("p_value:Q", title="p", format=".4f"),
        ],
    )
    size = alt.condition("datum.chosen", alt.value(3.5), alt.value(1.5))
    dots = lines.mark_point(filled=True, size=60, opacity=1).encode(
        shape=alt.Shape("name:N", title=None, scale=palette(shown, SHAPES))
    )
    chart: alt.LayerChart = (
        alt.layer(band, chance, lines.mark_line().encode(size=size), dots)
        .resolve_scale(fill="independent")
        .properties(
            width="container",
            height=320,
            title=heading("Do neighbours share a label?", "dashed: exact chance; thick: the vector chosen"),
        )
    )
    return chart


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the map first."""
    charts: dict[str, alt.TopLevelMixin] = {"map": map_chart(result)}
    if len(result.tables["vectors"]):
        charts["neighbours"] = neighbours_chart(result)
    if len(result.table) > 1:
        charts["distances"] = distances_chart(result)
    return charts | rank_charts.figures(result)


def _subtitle(drawing: str) -> str:
    if drawing == "pca":
        return "click a model for its spectra"
    return "click a model for its spectra; gaps and sizes of groups mean nothing here"


def _axes(drawing: str) -> tuple[str, str]:
    return ("PC 1", "PC 2") if drawing == "pca" else (f"{METHODS[drawing]} 1", f"{METHODS[drawing]} 2")


def _padded(table: pd.DataFrame) -> tuple[Any, Any]:
    """Scales with room round the points, the same unit on both axes: distances on a map are to be compared."""
    import altair as alt

    middle = [(table[axis].max() + table[axis].min()) / 2 for axis in ("x", "y")]
    reach = max(float(table[axis].max() - table[axis].min()) for axis in ("x", "y")) * 0.58 or 1.0
    return tuple(alt.Scale(domain=[centre - reach, centre + reach], nice=False) for centre in middle)  # type: ignore[return-value]


def _one_column(alt: Any) -> Any:
    return alt.Legend(orient="bottom", labelLimit=200)
