"""Charts of the weights study: the map, and neighbours compared with chance; a colour and a shape
for each label, and names, which all its charts share.

No chart sets a background or a text colour, so both a light and a dark theme fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from core.errors import SpecError, listed
from core.maths.spectra.projections import METHODS, MOST_AXES, calc_stress
from core.results.drawing import maps, style
from core.results.drawing.curves import Look, grey_band, line_chart, look_channels
from core.results.drawing.description import points_in_words
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Plane,
    Result,
    Tip,
    channel,
    labels_of,
    layered,
    short_names,
    text_of,
    tip_of,
    with_tooltips,
)
from core.studies.weights.activations import every_vector
from core.studies.weights.unlabelled import WORDS

NO_LABEL = "no label"
HEIGHT = 292
CHANCE, ATTAINABLE = "chance", "attainable maximum"
CHOSEN = "chosen"  # name of the selection on the map
RINGED = {"param": CHOSEN, "empty": False}
PAIRS = {"1-2": (0, 1), "1-3": (0, 2), "2-3": (1, 2)}  # axes that a map shows
PAIR_TITLES = {"1-2": "1 and 2", "1-3": "1 and 3", "2-3": "2 and 3"}


def model_names(result: Result) -> ndarray:
    """Short names of the result's models, in the table's order."""
    models = list(result.table["model"])
    short = short_names(models)
    return np.array([short[ref] for ref in models], dtype=object)


def vector_name(result: Result) -> str:
    """The chosen vector, with its rank if it has one, for a title."""
    name = result.spec["vector"]
    rank = f", rank {result.spec['rank']}" if every_vector()[name].ranked else ""
    return f"{every_vector()[name].title.lower()}{rank}"


def label_word(result: Result) -> str:
    """Return the noun that sentences use for a label, such as "task"."""
    return WORDS["table" if result.spec.get("labels") else str(result.spec["label"])]


def group_names(column: pd.Series, by: str) -> ndarray:
    """The values of a column for a legend."""
    if by == "cluster":
        return np.array(
            [f"cluster {value + 1}" if value >= 0 else "outlier" for value in column], dtype=object
        )
    return np.array([str(value) or NO_LABEL for value in column], dtype=object)


def ordered(groups: Sequence[str]) -> list[str]:
    """Groups by name, models without a label last."""
    labels = sorted({str(group) for group in groups} - {NO_LABEL})
    return labels + [NO_LABEL] * (NO_LABEL in set(groups))


def group_looks(groups: Sequence[str]) -> dict[str, Look]:
    """Give a task its colour on every page, models without a label grey, and other groups the
    colours that are left."""
    fixed = {**style.TASK_COLOURS, NO_LABEL: style.GREY}
    taken = {fixed.get(group) for group in groups}
    free = [colour for colour in style.COLOURS if colour not in taken] or list(style.COLOURS)
    others = [group for group in groups if group not in fixed]
    colours = [fixed.get(group) or free[others.index(group) % len(free)] for group in groups]
    return {
        group: Look(colour, style.SHAPES[place % len(style.SHAPES)])
        for place, (group, colour) in enumerate(zip(groups, colours, strict=True))
    }


def group_channels(groups: Sequence[str], *, context: Context) -> dict[str, Any]:
    """Colour and shape of a point by its group, in one legend below, in as many columns as fit."""
    below = style.legend(style.columns_for(groups, context=context), width=200)
    return look_channels(group_looks(groups), "group", below)


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
    groups, faded = ordered(table["group"]), bool(table["marked"].any())
    axis = {"tickCount": 5, "grid": False, **labels_of("share")}
    tips = (Tip("name", "Model"), "label", "data", "nearest", "distance", "relative_delta")
    rows, tooltip = with_tooltips(table.assign(who=table["name"]), tips)
    base = Chart(rows).encode(
        x=channel("x:Q", title=titles[0], scale={"domain": ends[0], "nice": False}, axis=axis),
        y=channel("y:Q", title=titles[1], scale={"domain": ends[1], "nice": False}, axis=axis),
    )
    dots = base.mark_point(filled=True, size=150).encode(
        **group_channels(groups, context=context),
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
    what = f"{METHODS[drawing]} of {vector_name(result)}"
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
    names = model_names(result)
    searched = {"name": names, "label": models["label"], "data": models["data"]}
    place = list(PAIRS[axes])
    table = models.assign(
        name=names,
        group=group_names(models[by], by),
        marked=maps.matches({**searched, "model": models["model"]}, wanted),
        x=coordinates[:, place[0]],
        y=coordinates[:, place[1]],
    ).sort_values("marked", ascending=False, kind="stable")
    ends = _padded(coordinates, place)
    bold = [False] * len(table)
    table = maps.placed(
        table, table["name"], ends, height, 8.0 * context.thin, bold=bold, context=context
    )
    return table, ends, height


def neighbours_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the share of same-label neighbours by k, a line per vector, with the attainable maximum,
    chance and its band."""
    table = result.tables["vectors"]
    names = {name: every_vector()[name].title for name in dict.fromkeys(table["vector"])}
    rows = table.assign(name=table["vector"].map(names))
    of_vector = rows[rows["vector"] == result.spec["vector"]]
    ends = [
        of_vector.assign(name=name, share=of_vector[column])
        for name, column in ((CHANCE, "chance"), (ATTAINABLE, "attainable"))
    ]
    title = tip_of("vectors.share").title
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
        under=[grey_band(of_vector, "Shuffled labels, 95 %")],
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
