"""Charts of the weights room: map of models, neighbours against chance, distances with their tree.

Every label has a colour and a point shape of its own. No chart sets a background or a text colour, so a light and
a dark theme both fit; one without panels stretches to its container.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from core.errors import SpecError
from core.results.names import short_names
from core.weights import rank_charts
from core.weights.clustering import build_dendrogram
from core.weights.maps import METHODS
from core.weights.vectors import VECTORS

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A7A3C", "#5B5446")  # after Okabe & Ito
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
GREY = "#8C8C8C"
NO_LABEL = "no label"
HEIGHT = 380
CHOSEN = "chosen"  # name of the selection on the map
TREE = 0.35  # height of the tree over the heatmap, in heights of the heatmap
STRIP = 0.6  # rows that the coloured strip of labels takes


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
    table = result.table.assign(name=_names(result), group=_groups(result.table[by], by))
    drawing = result.spec["map"]
    titles = [
        f"{axis} ({share:.0%} of squared distance)" if np.isfinite(share) else axis
        for axis, share in zip(_axes(drawing), result.arrays["explained"], strict=True)
    ]
    groups = _ordered(table["group"])
    scale = _padded(table)
    base = alt.Chart(table).encode(
        x=alt.X("x:Q", title=titles[0], scale=scale[0], axis=alt.Axis(tickCount=5, grid=False)),
        y=alt.Y("y:Q", title=titles[1], scale=scale[1], axis=alt.Axis(tickCount=5, grid=False)),
    )
    pick = alt.selection_point(name=CHOSEN, fields=["model"], on="click", clear="dblclick")
    dots = base.mark_point(filled=True, size=150, opacity=0.9).encode(
        color=alt.Color("group:N", title=None, scale=_palette(groups), legend=legend(groups)),
        shape=alt.Shape("group:N", title=None, scale=_palette(groups, SHAPES)),
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
        width="container", height=HEIGHT, title=_title(f"{METHODS[drawing]} of {_vector(result)}", _subtitle(drawing))
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
        color=alt.Color("name:N", title=None, scale=_palette(shown), legend=legend(shown)),
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
        shape=alt.Shape("name:N", title=None, scale=_palette(shown, SHAPES))
    )
    return (
        alt.layer(band, chance, lines.mark_line().encode(size=size), dots)
        .resolve_scale(fill="independent")
        .properties(
            width="container",
            height=320,
            title=_title("Do neighbours share a label?", "dashed: exact chance; thick: the vector chosen"),
        )
    )


def distances_chart(result: Result) -> alt.LayerChart:
    """Every distance as a heatmap, models in the order of the clustering tree drawn over it.

    Raises:
        SpecError: If there are fewer than two models.
    """
    import altair as alt

    distances = result.arrays[f"distances {result.spec['vector']}"]
    count = len(distances)
    if count < 2:
        raise SpecError("Distances need two models or more.")
    tree = build_dendrogram(distances)
    names = _names(result)[tree.order]
    groups = _groups(result.table["label"], "label")[tree.order]
    top = -0.7 - STRIP - TREE * count
    x_scale, y_scale = (alt.Scale(domain=domain, nice=False) for domain in ([-0.5, count - 0.5], [count - 0.5, top]))
    x = alt.X("x:Q", title=None, scale=x_scale, axis=_names_axis(names, -90))
    y = alt.Y("y:Q", title=None, scale=y_scale, axis=_names_axis(names, 0))
    heat = (
        alt.Chart(_cells(distances[np.ix_(tree.order, tree.order)], names))
        .mark_rect()
        .encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=alt.Color(
                "distance:Q",
                title="Distance",
                scale=alt.Scale(scheme="viridis", reverse=True, zero=False),
                legend=alt.Legend(orient="bottom", gradientLength=160),
            ),
            tooltip=["model:N", "other:N", alt.Tooltip("distance:Q", format=".3f")],
        )
    )
    shown = _ordered(groups)
    fill = alt.Fill("group:N", title=None, scale=_palette(shown), legend=legend(shown))
    strip = alt.Chart(_strip(groups)).mark_rect().encode(x=x, x2="x2:Q", y=y, y2="y2:Q", fill=fill)
    lines = (
        alt.Chart(_tree_lines(tree.joins, top, -0.7 - STRIP))
        .mark_line(color=GREY, strokeWidth=1.5, interpolate="linear")
        .encode(x=x, y=y, detail="join:N", order="step:O")
    )
    return (
        alt.layer(heat, strip, lines)
        .resolve_scale(color="independent", fill="independent")
        .properties(
            width="container",
            height=min(60 + 24 * count, 620),
            title=_title(
                f"Distances between {_vector(result)}", "sorted by the tree of average linkage; the strip shows labels"
            ),
        )
    )


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the map first."""
    charts: dict[str, alt.TopLevelMixin] = {"map": map_chart(result)}
    if len(result.tables["vectors"]):
        charts["neighbours"] = neighbours_chart(result)
    if len(result.table) > 1:
        charts["distances"] = distances_chart(result)
    return charts | rank_charts.figures(result)


def legend(groups: Sequence[str]) -> Any:
    """A legend below the chart, in as many columns as the names leave room for."""
    import altair as alt

    longest = max((len(str(group)) for group in groups), default=1)
    return alt.Legend(orient="bottom", columns=4 if longest < 14 else 2, labelLimit=200, symbolOpacity=1)


def _names(result: Result) -> ndarray:
    models = list(result.table["model"])
    short = short_names(models)
    return np.array([short[ref] for ref in models], dtype=object)


def _vector(result: Result) -> str:
    name = result.spec["vector"]
    rank = f", rank {result.spec['rank']}" if VECTORS[name].ranked else ""
    return f"{VECTORS[name].title.lower()}{rank}"


def _subtitle(drawing: str) -> str:
    if drawing == "pca":
        return "click a model for its spectra"
    return "click a model for its spectra; gaps and sizes of groups mean nothing here"


def _axes(drawing: str) -> tuple[str, str]:
    return ("PC 1", "PC 2") if drawing == "pca" else (f"{METHODS[drawing]} 1", f"{METHODS[drawing]} 2")


def _groups(column: pd.Series, by: str) -> ndarray:
    if by == "cluster":
        return np.array([f"cluster {value + 1}" if value >= 0 else "outlier" for value in column], dtype=object)
    return np.array([str(value) or NO_LABEL for value in column], dtype=object)


def _ordered(groups: Sequence[str]) -> list[str]:
    known = sorted({str(group) for group in groups} - {NO_LABEL})
    return known + [NO_LABEL] * (NO_LABEL in set(groups))


def _palette(groups: Sequence[str], values: Sequence[str] = COLOURS) -> Any:
    import altair as alt

    given = [values[place % len(values)] for place in range(len(groups))]
    if values is COLOURS and NO_LABEL in groups:
        given[list(groups).index(NO_LABEL)] = GREY
    return alt.Scale(domain=list(groups), range=given)


def _padded(table: pd.DataFrame) -> tuple[Any, Any]:
    """Scales with room round the points, the same unit on both axes: distances on a map are to be compared."""
    import altair as alt

    middle = [(table[axis].max() + table[axis].min()) / 2 for axis in ("x", "y")]
    reach = max(float(table[axis].max() - table[axis].min()) for axis in ("x", "y")) * 0.58 or 1.0
    return tuple(alt.Scale(domain=[centre - reach, centre + reach], nice=False) for centre in middle)  # type: ignore[return-value]


def _cells(distances: ndarray, names: Sequence[str]) -> pd.DataFrame:
    """Squares of the heatmap; a model's distance from itself says nothing and is left blank."""
    import pandas as pd

    row, column = (axis.ravel() for axis in np.indices(distances.shape))
    return pd.DataFrame(
        {
            "x": column - 0.5,
            "x2": column + 0.5,
            "y": row - 0.5,
            "y2": row + 0.5,
            "distance": np.where(row == column, np.nan, distances.ravel()),
            "model": np.asarray(names, dtype=object)[row],
            "other": np.asarray(names, dtype=object)[column],
        }
    )


def _strip(groups: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    place = np.arange(len(groups))
    return pd.DataFrame({"x": place - 0.5, "x2": place + 0.5, "y": -0.6 - STRIP, "y2": -0.6, "group": groups})


def _tree_lines(joins: ndarray, top: float, bottom: float) -> pd.DataFrame:
    """The tree's joins as brackets of four points, heights scaled into the room over the heatmap."""
    import pandas as pd

    highest = float(joins[:, 4].max()) or 1.0
    rows = []
    for number, (left, low, right, other, height) in enumerate(joins):
        for step, (x, level) in enumerate(((left, low), (left, height), (right, height), (right, other))):
            rows.append((number, step, x, bottom + (top - bottom) * 0.95 * level / highest))
    return pd.DataFrame(rows, columns=["join", "step", "x", "y"])


def _names_axis(names: Sequence[str], angle: int) -> Any:
    """An axis of whole numbers that writes names instead."""
    import altair as alt

    quoted = ", ".join("'" + str(name).replace("\\", "").replace("'", "") + "'" for name in names)
    return alt.Axis(
        values=list(range(len(names))),
        labelExpr=f"[{quoted}][datum.value]",
        labelAngle=angle,
        labelLimit=110,
        labelOverlap=False,
        grid=False,
        ticks=False,
        domain=False,
    )


def _title(text: str, subtitle: str = "") -> Any:
    import altair as alt

    return alt.Title(text, subtitle=subtitle, anchor="start")


def _one_column(alt: Any) -> Any:
    return alt.Legend(orient="bottom", labelLimit=200)
