"""Charts of the weights study: the map, neighbours compared with chance, and all figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import SpecError
from core.results.drawing.axes import Plane
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, curves, finished, grey_band
from core.results.drawing.description import points_in_words
from core.results.drawing.labels import free_labels
from core.results.drawing.style import COLOURS, GREY, SHAPES, heading
from core.results.drawing.vega import Chart, channel, layered
from core.results.numbers import Tip, label_expr, text_of, told
from core.weights.clusters.charts import ranks as rank_charts
from core.weights.clusters.charts.distances import distances_chart
from core.weights.clusters.charts.marks import (
    group_names,
    legend,
    model_names,
    ordered,
    palette,
    vector_name,
)
from core.weights.vectors.projections import METHODS
from core.weights.vectors.registry import VECTORS

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

HEIGHT = 292
CHANCE, ATTAINABLE = "chance", "attainable maximum"
CHOSEN = "chosen"  # name of the selection on the map


def map_chart(
    result: Result, by: str = "label", chosen: str = "", *, context: Context = PAGE
) -> Chart:
    """Draw every fine-tune as a point, coloured by a column of the table.

    Args:
        result: Of the weights study; its last map is drawn.
        by: Column of the main table: "label", "task", "data", "base" or "cluster".
        chosen: A model to ring.

    Raises:
        SpecError: If there is no such column.
    """
    if by not in result.table.columns:
        raise SpecError(
            f"The map cannot be coloured by {by!r}; choose label, task, data, base or cluster."
        )
    table = result.table.assign(name=model_names(result), group=group_names(result.table[by], by))
    drawing = result.spec["map"]
    titles = [
        f"{axis} ({text_of(share, 'per cent')} of squared distance)" if np.isfinite(share) else axis
        for axis, share in zip(_axes(drawing), result.arrays["explained"], strict=True)
    ]
    groups = ordered(table["group"])
    (x_ends, y_ends), height = _padded(table), context.height(HEIGHT)
    table = _named(table, x_ends, y_ends, height, chosen, context=context)
    axis = {"tickCount": 5, "grid": False, "labelExpr": str(label_expr("share"))}
    tips = (
        *(Tip("name", "Model"), Tip("label", "Label"), Tip("data", "Data")),
        *(Tip("nearest", "Nearest model"), Tip("distance", "Distance to it", "share")),
        Tip("relative_delta", "Relative update", "share"),
    )
    rows, tooltip = told(table.assign(who=table["name"]), tips)
    base = Chart(rows).encode(
        x=channel("x:Q", title=titles[0], scale={"domain": x_ends, "nice": False}, axis=axis),
        y=channel("y:Q", title=titles[1], scale={"domain": y_ends, "nice": False}, axis=axis),
    )
    pick = {
        "name": CHOSEN,
        "select": {"type": "point", "fields": ["model"], "on": "click", "clear": "dblclick"},
    }
    dots = base.mark_point(filled=True, size=150, opacity=0.9).encode(
        **_group_channels(groups, context=context), tooltip=tooltip
    )
    letter = context.letter
    offset: dict[str, Any] = {"dx": {"expr": "datum.dx"}, "dy": {"expr": "datum.dy"}}
    names = base.filtered("datum.named && !datum.ringed").mark_text(
        fontSize=context.small, **offset
    )
    layers = [dots.properties(params=[pick]), names.encode(text="name:N")]
    if chosen:
        ringed = base.filtered("datum.ringed")
        layers.append(ringed.mark_point(size=420, filled=False, strokeWidth=2, color=GREY))
        bold = ringed.mark_text(fontSize=letter, fontWeight="bold", **offset)
        layers.append(bold.encode(text="name:N"))
    what = f"{METHODS[drawing]} of {vector_name(result)}"
    return layered(*layers).properties(
        width="container",
        height=height,
        title=heading(what, _subtitle(drawing)),
        description=points_in_words(
            table, f"{what}: {' and '.join(titles)}", name="name", group="group", point="model"
        ),
    )


def _group_channels(groups: Sequence[str], *, context: Context) -> dict[str, Any]:
    """Colour and shape of a point by its group, in one legend."""
    shared: dict[str, Any] = {"title": None, "legend": legend(groups, context=context)}
    return {
        "color": channel("group:N", scale=palette(groups), **shared),
        "shape": channel("group:N", scale=palette(groups, SHAPES), **shared),
    }


def neighbours_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the share of same-label neighbours by k, a line per vector, with the attainable maximum,
    chance and its band.

    Raises:
        SpecError: If nothing could be scored.
    """
    import pandas as pd

    table = result.tables["vectors"]
    if table.empty:
        raise SpecError("No neighbours were scored: at least three models need labels.")
    names = {name: vector.title for name, vector in VECTORS.items()}
    rows = table.assign(name=table["vector"].map(names), low=float("nan"), high=float("nan"))
    chosen = rows[rows["vector"] == result.spec["vector"]]
    ends = [
        chosen.assign(name=name, share=chosen[column])
        for name, column in ((CHANCE, "chance"), (ATTAINABLE, "attainable"))
    ]
    title = "Neighbours with the same label"
    most = max(int(rows["k"].max()), 2)
    plane = Plane(
        "k",
        "share",
        "Nearest neighbours, k",
        title,
        0.0,
        1.0,
        (1.0, float(most)),
        kind="per cent",
        height=320,
        context=context,
    )
    looks = {
        shown: Look(COLOURS[place], SHAPES[place], width=4 if name == result.spec["vector"] else 2)
        for place, (name, shown) in enumerate(names.items())
    }
    looks[CHANCE] = Look(GREY, dash=(6, 4), point=False, width=1.5)
    looks[ATTAINABLE] = Look(GREY, dash=(2, 3), point=False, width=1.5)
    tips = (
        *(Tip("name", "Vector"), Tip("k", "k", "whole"), Tip("share", "Share", "per cent")),
        *(Tip("chance", "Chance", "per cent"), Tip("p_value", "p", "measure")),
    )
    under = [grey_band(chosen, plane, "null_low", "null_high", "Shuffled labels, 95 %")]
    drawn = pd.concat([rows, *ends], ignore_index=True)
    what = "Do neighbours share a label?"
    below = "grey band: shuffled labels, 95 %; dashed: chance; dotted: attainable maximum"
    chart = curves(drawn, plane, looks, tips, under=under)
    return finished(chart, drawn, plane, what, below, list(looks), x_title="number of neighbours")


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw every chart that the result has numbers for, by file name; the map first."""
    charts: dict[str, Chart] = {"map": map_chart(result, context=context)}
    if len(result.tables["vectors"]):
        charts["neighbours"] = neighbours_chart(result, context=context)
    if len(result.table) > 1:
        charts["distances"] = distances_chart(result, context=context)
    return charts | rank_charts.figures(result, context)


def _subtitle(drawing: str) -> str:
    return "" if drawing == "pca" else "gaps and sizes of groups have no meaning"


def _axes(drawing: str) -> tuple[str, str]:
    return (
        ("PC 1", "PC 2") if drawing == "pca" else (f"{METHODS[drawing]} 1", f"{METHODS[drawing]} 2")
    )


def _padded(table: pd.DataFrame) -> tuple[list[float], list[float]]:
    """Ends of both axes with the same unit, so that distances can be compared, and a margin."""
    middle = [(table[axis].max() + table[axis].min()) / 2 for axis in ("x", "y")]
    reach = max(float(table[axis].max() - table[axis].min()) for axis in ("x", "y")) * 0.58 or 1.0
    x, y = ([float(centre - reach), float(centre + reach)] for centre in middle)
    return x, y


def _named(
    table: pd.DataFrame,
    x_ends: list[float],
    y_ends: list[float],
    height: float,
    chosen: str,
    *,
    context: Context,
) -> pd.DataFrame:
    """The table, chosen model first, with places of names (dx, dy) and whether they fit (named)."""
    table = table.assign(ringed=table["model"] == chosen).sort_values(
        "ringed", ascending=False, kind="stable"
    )
    letter = context.letter
    x = (table["x"] - x_ends[0]) / (x_ends[1] - x_ends[0]) * context.narrow
    y = (y_ends[1] - table["y"]) / (y_ends[1] - y_ends[0]) * height
    widths = table["name"].str.len() * letter * np.where(table["ringed"], 0.64, 0.48) + 2
    places = free_labels(x, y, widths, letter, (context.narrow, height), 8.0 * context.thin)
    above = [place or (a, b - 18) for place, a, b in zip(places, x, y, strict=True)]
    return table.assign(
        named=[place is not None for place in places],
        dx=[place[0] - a for place, a in zip(above, x, strict=True)],
        dy=[place[1] - b for place, b in zip(above, y, strict=True)],
    )
