"""Charts of the weights study: the map, neighbours compared with chance, and the update of a single
model, a cell for each family and layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from core.errors import SpecError, listed
from core.maths.spectra.projections import METHODS, MOST_AXES, calc_stress
from core.results.drawing import maps, style
from core.results.drawing.curves import Look, grey_band, line_chart
from core.results.drawing.description import points_in_words
from core.results.estimates import kind_of
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Plane,
    Result,
    Tip,
    channel,
    heatmap,
    labels_of,
    layered,
    text_of,
    told,
)
from core.studies.weights.activations import every_vector
from core.studies.weights.clusters.charts import marks

ROW, ROOM = 26, 60  # height of a row of cells, and of axes and legend
TITLES = {
    "relative_norm": "Size of the update by matrix",
    "rank": "Rank of the update by matrix",
}
HEIGHT = 292
CHANCE, ATTAINABLE = "chance", "attainable maximum"
CHOSEN = "chosen"  # name of the selection on the map
RINGED = {"param": CHOSEN, "empty": False}
PAIRS = {"1-2": (0, 1), "1-3": (0, 2), "2-3": (1, 2)}  # axes that a map shows
PAIR_TITLES = {"1-2": "1 and 2", "1-3": "1 and 3", "2-3": "2 and 3"}


def map_chart(
    result: Result,
    by: str = "label",
    chosen: str = "",
    axes: str = "1-2",
    wanted: str = "",
    *,
    context: Context = PAGE,
) -> Chart:
    """Draw every fine-tune as a point, coloured by the column `by`; ring the model `chosen`, and
    mark those that have a part of `wanted`, separated by commas, in their name, label or data set.
    Raises SpecError if there is no such column, or the map has no such axes."""
    if by not in result.table.columns:
        raise SpecError(
            f"The map cannot be coloured by {by!r}; choose label, task, data, base or cluster."
        )
    if axes not in axes_of(result):
        raise SpecError(f"This map has the axes {', '.join(axes_of(result))}, not {axes!r}.")
    drawing = result.spec["map"]
    titles = [
        f"{axis} ({text_of(share, 'per cent')} of squared distance)" if np.isfinite(share) else axis
        for axis, share in zip(_axes(drawing, axes), shares_of(result, axes), strict=True)
    ]
    table, ends, height = _points(result, by, axes, wanted, context=context)
    groups, faded = marks.ordered(table["group"]), bool(table["marked"].any())
    x_ends, y_ends = ends
    axis = {"tickCount": 5, "grid": False, **labels_of("share")}
    tips = (Tip("name", "Model"), "label", "data", "nearest", "distance", "relative_delta")
    rows, tooltip = told(table.assign(who=table["name"]), tips)
    base = Chart(rows).encode(
        x=channel("x:Q", title=titles[0], scale={"domain": x_ends, "nice": False}, axis=axis),
        y=channel("y:Q", title=titles[1], scale={"domain": y_ends, "nice": False}, axis=axis),
    )
    dots = base.mark_point(filled=True, size=150).encode(
        **marks.group_channels(groups, context=context),
        tooltip=tooltip,
        opacity=maps.opacity(0.9, faded=faded),
    )
    names = maps.name_layer(
        base, ends, faded=faded, without=RINGED, fontSize=context.small, context=context
    )
    layers = [dots.with_param(_pick(chosen)), names.encode(text="name:N")]
    if chosen:
        ringed = base.filtered(RINGED)
        layers.append(ringed.mark_point(size=420, filled=False, strokeWidth=2, color=style.GREY))
        letters: dict[str, Any] = {"fontSize": context.letter, "fontWeight": "bold"}
        layers.append(ringed.mark_text(**letters, **maps.OFFSET).encode(text="name:N"))
    what = f"{METHODS[drawing]} of {marks.vector_name(result)}"
    below = _subtitle(result), maps.count_matches(table["marked"], wanted, "model")
    return layered(*maps.zoomed(layers, context=context)).properties(
        width="container",
        height=height,
        title=style.heading(what, "; ".join(filter(None, below))),
        description=points_in_words(
            table, f"{what}: {listed(titles)}", name="name", group="group", point="model"
        ),
    )


def axes_of(result: Result) -> list[str]:
    """Pairs of axes of the result's map: three of classical MDS, one of t-SNE and UMAP."""
    third = "z" in result.table and bool(result.table["z"].notna().all())
    return list(PAIRS) if third else list(PAIRS)[:1]


def shares_of(result: Result, axes: str) -> tuple[float, float]:
    """Shares of the squared distances on a pair of axes; NaN for t-SNE and UMAP."""
    first, second = PAIRS[axes]
    return float(result.arrays["explained"][first]), float(result.arrays["explained"][second])


def _pick(chosen: str) -> dict[str, Any]:
    """The selection of a clicked point, which stays until another is clicked."""
    select = {"type": "point", "fields": ["model"], "on": "symbol:click"}
    begin = {"value": [{"model": chosen}]} if chosen else {}
    return {"name": CHOSEN, "select": {**select, "toggle": False, "clear": False}, **begin}


def _points(
    result: Result, by: str, axes: str, wanted: str, *, context: Context
) -> tuple[pd.DataFrame, maps.Ends, float]:
    """The models as points with placed names, marked ones first; ends of the axes; height."""
    models, height = result.table, context.height(HEIGHT)
    shown = ["x", "y", "z"][: 2 if len(axes_of(result)) == 1 else MOST_AXES]
    coordinates = models[shown].to_numpy(float)
    names = marks.model_names(result)
    searched = {"name": names, "label": models["label"], "data": models["data"]}
    place = list(PAIRS[axes])
    table = models.assign(
        name=names,
        group=marks.group_names(models[by], by),
        marked=maps.matches({**searched, "model": models["model"]}, wanted),
        x=coordinates[:, place[0]],
        y=coordinates[:, place[1]],
    ).sort_values("marked", ascending=False, kind="stable")
    ends = _padded(coordinates, place)
    radius = 8.0 * context.thin
    bold = [False] * len(table)
    table = maps.placed(table, table["name"], ends, height, radius, bold=bold, context=context)
    return table, ends, height


def neighbours_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the share of same-label neighbours by k, a line per vector, with the attainable maximum,
    chance and its band."""
    table = result.tables["vectors"]
    names = {name: every_vector()[name].title for name in dict.fromkeys(table["vector"])}
    rows = table.assign(name=table["vector"].map(names))
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
        shown: Look(
            style.COLOURS[place],
            style.SHAPES[place],
            width=4 if name == result.spec["vector"] else 2,
        )
        for place, (name, shown) in enumerate(names.items())
    }
    looks[CHANCE] = Look(style.GREY, dash=(6, 4), point=False, width=1.5)
    looks[ATTAINABLE] = Look(style.GREY, dash=(2, 3), point=False, width=1.5)
    what = "Do neighbours share a label?"
    below = "grey band: shuffled labels, 95 %; dashed: chance; dotted: attainable maximum"
    return line_chart(
        pd.concat([rows, *ends], ignore_index=True), plane, looks, what, below,
        line="Vector", also=["chance", "p_value"],
        under=[grey_band(chosen, "Shuffled labels, 95 %")],
    )  # fmt: skip


def change_chart(result: Result, column: str, *, context: Context = PAGE) -> Chart:
    """Draw the update of a result's one model by family and layer, its "relative_norm" or its
    "rank" at the study's threshold, as a heatmap that fills its container."""
    ranks, threshold = result.tables["ranks"], float(result.spec["threshold"])
    table = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == threshold)]
    families = list(dict.fromkeys(table["family"]))
    energy = text_of(threshold, "setting")
    below = {
        "relative_norm": "norm of the update over the norm of the base's matrix",
        "rank": f"directions that hold {energy} of its energy; 0 for an unchanged matrix",
    }[column]
    moved = table.loc[table["relative_norm"] > 0, column]
    median = text_of(float(moved.median()), kind_of(column, {}))
    return heatmap(
        table, TITLES[column], below, x="layer", y="family", value=column, x_title="Layer",
        ends=(0.0, float(table[column].max()) or 1.0), tips=["family", "layer"],
        also=["null_rank"] if column == "rank" else [], order=(None, families),
        said=f"{TITLES[column]}, median {median}" if len(moved) else TITLES[column],
        height=ROW * len(families) + ROOM, context=context,
    )  # fmt: skip


def stresses_of(result: Result) -> dict[int, float]:
    """Share of the distances that the map loses (Kruskal's stress) in two and in three dimensions;
    empty for t-SNE, UMAP and a map that loses nothing."""
    table = result.table
    if result.spec["map"] != "pca" or len(table) <= MOST_AXES or "z" not in table:
        return {}
    points = table[["x", "y", "z"]].to_numpy(float)
    if not np.isfinite(points).all():
        return {}
    distances = result.arrays[f"distances {result.spec['vector']}"]
    return {axes: calc_stress(distances, points[:, :axes]) for axes in (2, 3)}


def _subtitle(result: Result) -> str:
    """What the map loses: the stress of two and of three dimensions, or what gaps do not mean."""
    if result.spec["map"] != "pca":
        return "gaps and sizes of groups have no meaning"
    stresses = stresses_of(result)
    return maps.stress_in_words(stresses, "the view Distances") if stresses else ""


def _axes(drawing: str, axes: str) -> tuple[str, str]:
    name = "PC" if drawing == "pca" else METHODS[drawing]
    first, second = PAIRS[axes]
    return f"{name} {first + 1}", f"{name} {second + 1}"


def _padded(coordinates: ndarray, places: Sequence[int]) -> maps.Ends:
    """Ends of both axes with the same unit and length for every pair, so that distances can be
    compared, and a margin."""
    low, high = coordinates.min(axis=0), coordinates.max(axis=0)
    reach = float((high - low).max()) * 0.58 or 1.0
    x, y = ((low[place] + high[place]) / 2 for place in places)
    return [float(x - reach), float(x + reach)], [float(y - reach), float(y + reach)]
