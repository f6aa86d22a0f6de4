"""Charts of the alignment study: error by method and layer, pairs, every layer into every layer,
training, the space.

Methods have the same colours in every chart; controls are grey and dashed. No chart sets a
background or a text colour, so that it fits a light and a dark theme; a chart without panels
stretches to its container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.alignment.maps.registry import METHODS
from core.alignment.seeds.curves import (
    ERROR_TITLE,
    HEIGHT,
    ceiling_of,
    curves_of_methods,
    error_chart,
    with_labels,
)
from core.alignment.seeds.statements import best_map, judged
from core.alignment.seeds.tables import OVERALL, PAIRS
from core.alignment.seeds.text import WHICH
from core.errors import SpecError
from core.results.drawing.axes import Plane, layer_plane, rule, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import BREAK, Look, graded
from core.results.drawing.description import bars_in_words, cells_in_words
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.panels import beside
from core.results.drawing.style import BLUE, BROWN, DASHES, GREY, ORANGE, SHAPES, heading, legend
from core.results.drawing.vega import Chart, OfWidth, channel, layered
from core.results.names import short_names
from core.results.numbers import Tip, label_expr, text_of, told

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

GRID, SPACE = 295, 270  # heights of plots with a legend or a slider below
GAIN_TITLE = "More of the variance (points)"
NO_GAIN = "no gain"
GAINED = {  # names of the gains in charts
    "state over window": "hidden state over static window",
    "window over word": "static window over static word",
    "window beside state": "both over hidden state",
    "state beside window": "both over static window",
}
GROUPS = {"models": "first group", "against": "second group"}


def method_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the held-out error by method: a box over pairs and layers, the mean with its interval
    and as a number.

    Raises:
        SpecError: If no pair was aligned.
    """
    words = judged(result.tables["methods"])
    table = _test(result, words)
    if table.empty:
        raise SpecError("No pair of the first group was aligned, so there is nothing to draw.")
    means = with_labels(result.tables["methods"])
    means = means[(means["group"] == "models") & (means["words"] == words)]
    shown = [METHODS[name].label for name in result.spec["methods"] if name in set(table["method"])]
    ceiling = ceiling_of(table["nmse"])
    spread = table.groupby("label")["nmse"].quantile([0.0, 0.25, 0.5, 0.75, 1.0]).unstack()
    spread.columns = ["least", "lower", "median", "upper", "most"]
    tips = (
        Tip("label", "Map"),
        Tip("nmse", "Mean error", "share"),
        Tip("low", "95 % interval", "share"),
    )
    rows, tooltip = told(means.merge(spread.reset_index(), on="label"), tips)
    rows = rows.assign(
        written=[text_of(value) for value in rows["nmse"]], out=rows["nmse"] > ceiling, edge=ceiling
    )
    room = round(3.6 * context.letter)
    beside = OfWidth(f"width - {room}", lambda width: round(width - room, 1))
    scale = {"domain": [0, ceiling], "nice": False, "range": [0, beside]}
    axis = {"labelExpr": str(label_expr("share")), "tickCount": 6}

    def along(column: str) -> dict[str, Any]:
        return channel(f"{column}:Q", title=ERROR_TITLE, scale=scale, axis=axis)

    colours = [METHODS[name].colour for name in METHODS if METHODS[name].label in shown]
    domain = [METHODS[name].label for name in METHODS if METHODS[name].label in shown]
    colour = channel("label:N", scale={"domain": domain, "range": colours}, legend=None)
    y = channel("label:N", title=None, sort=shown, axis={"labelLimit": 160, "ticks": False})
    base = Chart(rows).encode(y=y, tooltip=tooltip)
    inside = base.filtered("!datum.out")
    chance = Chart(rows.head(1).assign(one=1.0)).mark_rule(strokeDash=[4, 4], color=GREY, clip=True)
    beyond = base.filtered("datum.out").mark_point(
        shape=BREAK, angle=90, size=130, filled=False, strokeWidth=1.6, opacity=1, color=GREY
    )
    layers = [
        base.mark_rule(color=GREY, clip=True).encode(x=along("least"), x2="most:Q"),
        base.mark_bar(size=14, opacity=0.55, clip=True).encode(
            x=along("lower"), x2="upper:Q", color=colour
        ),
        base.mark_tick(size=14, thickness=2, color=GREY, clip=True).encode(x=along("median")),
        *([chance.encode(x=along("one"))] if ceiling > 1 else []),
        base.mark_rule(strokeWidth=3, clip=True, color=BROWN).encode(x=along("low"), x2="high:Q"),
        inside.mark_point(filled=True, size=70, shape="diamond", opacity=1, color=ORANGE).encode(
            x=along("nmse")
        ),
        beyond.encode(x=along("edge")),
        base.mark_text(align="left", dx=8, fontSize=context.letter).encode(
            x=along("edge"), text="written:N"
        ),
    ]
    what = f"Error by map on {WHICH[words]}"
    below = "box: pairs and layers; diamond and number: mean; bar: 95 % interval" + (
        "; two strokes: the mean is beyond the axis" if rows["out"].any() else ""
    )
    order = rows.assign(place=rows["label"].map(shown.index)).sort_values("place")
    height = context.height(max(HEIGHT * 0.5, 26 * len(shown)))
    chart = layered(*layers).properties(
        title=heading(what, below),
        width="container",
        height=height,
        description=bars_in_words(
            order, f"{what}, mean of each method", name="label", value="nmse"
        ),
    )
    return chart


def layer_chart(result: Result, group: str = "models", *, context: Context = PAGE) -> Chart:
    """Draw the held-out error by layer, one line per method, with bands over models and held-out
    words.

    Raises:
        SpecError: If no pair of the group was aligned.
    """
    words, table = judged(result.tables["methods"]), result.tables["layers"]
    table = table[(table["group"] == group) & (table["words"] == words)]
    if table.empty:
        raise SpecError(f"This study has no {GROUPS.get(group, group)}: name models for it.")
    which = f", {GROUPS[group]}" if result.spec["against"] else ""
    return error_chart(
        table,
        f"Error by layer on {WHICH[words]}{which}",
        "0: perfect; 1: no better than the target's mean; bands: 95 % intervals",
        context=context,
    )


def gain_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw what the layers add to the static window, and the window to them, by layer.

    Raises:
        SpecError: If the study has no static window.
    """
    import pandas as pd

    words = judged(result.tables["methods"])
    table = result.need("gains", "the static window and kernel ridge")
    rows = table[
        (table["group"] == "models") & (table["words"] == words) & (table["layer"] != OVERALL)
    ]
    columns = {name: 100 * rows[name] for name in ("difference", "low", "high")}
    rows = rows.assign(name=rows["gain"].map(GAINED), **columns)
    span = span_of([0.0, *rows["low"], *rows["high"]])
    plane = layer_plane(
        rows, "difference", GAIN_TITLE, span, kind="gain", height=HEIGHT, context=context
    )
    looks = {
        GAINED[gain]: Look(METHODS[method].colour, SHAPES[number], DASHES[0] if number else (1, 0))
        for number, (gain, (method, _)) in enumerate(PAIRS.items())
    }
    drawn = pd.concat([rows, rule(plane, NO_GAIN, 0.0)], ignore_index=True)
    looks[NO_GAIN] = Look(GREY, dash=(4, 4), point=False, width=1.2)
    return curves_of_methods(
        drawn,
        plane,
        looks,
        f"What the layers add to the embedding table on {WHICH[words]}",
        "static window: layer 0 of the word and its neighbours; bands: 95 % intervals",
    )


def grid_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the error of the map from every source layer into every target layer of the first pair.

    Raises:
        SpecError: If the study has no such maps.
    """
    table = result.tables.get("grid")
    if table is None:
        raise SpecError(
            "This study has no maps between different layers: choose a map under Layer into layer."
        )
    names = short_names(result.spec["models"])
    source, target = (names[ref] for ref in result.spec["models"][:2])
    titles = (f"Layer of {target}", f"Layer of {source}", "Error")
    tips = (
        Tip("source_layer", "Source layer", "whole"),
        Tip("target_layer", "Target layer", "whole"),
    )
    chart = heatmap(
        table,
        x="target_layer",
        y="source_layer",
        value="nmse",
        titles=titles,
        ends=(0.0, 1.0),
        reverse=True,
        tips=(*tips, Tip("nmse", "Error", "share")),
        height=GRID,
        context=context,
    )
    what = "Every layer into every layer"
    below = f"{METHODS[result.spec['grid']].label}, {source} into {target}, held-out error"
    words = cells_in_words(
        table,
        f"{what}: {below}",
        row="source_layer",
        column="target_layer",
        value="nmse",
        value_title="error",
    )
    return chart.properties(title=heading(what, below), description=words)


def pair_chart(result: Result, method: str, *, context: Context = PAGE) -> Chart:
    """Draw the held-out error of every directed pair, averaged over layers; similar models are
    neighbours.

    Raises:
        SpecError: If the method aligned no pair.
    """
    words = judged(result.tables["methods"])
    table = _test(result, words)
    table = (
        table[table["method"] == method]
        .groupby(["source", "target"], as_index=False)["nmse"]
        .mean()
    )
    if table.empty:
        raise SpecError(f"No pair was aligned by {method}: choose another map.")
    names = short_names(dict.fromkeys([*table["source"], *table["target"]]))
    order = [names[ref] for ref in _clustered(table)]
    table = table.assign(source=table["source"].map(names), target=table["target"].map(names))
    chart = heatmap(
        table,
        x="target",
        y="source",
        value="nmse",
        titles=("Target", "Source", "Error"),
        ends=(0.0, 1.0),
        reverse=True,
        tips=(Tip("source", "Source"), Tip("target", "Target"), Tip("nmse", "Error", "share")),
        order=(order, order),
        angle=-45 if len(order) > 4 else 0,
        height=max(160, min(HEIGHT + 120, 46 * len(order))),
        context=context,
    )
    what, below = "Error of each pair", f"{METHODS[method].label}, {WHICH[words]}, mean over layers"
    said = cells_in_words(
        table, f"{what}, {below}", row="source", column="target", value="nmse", value_title="error"
    )
    return chart.properties(title=heading(what, below), description=said)


def trained(result: Result) -> list[str]:
    """List the networks whose training was recorded."""
    table = result.tables.get("curves")
    return [] if table is None else [name for name in METHODS if (table["method"] == name).any()]


def curve_chart(result: Result, method: str = "", *, context: Context = PAGE) -> Chart:
    """Draw the validation error of a network during training, one line per layer, mean over pairs.

    Args:
        result: Of the alignment study.
        method: One network, for a chart that stretches; all networks side by side where it is
            empty.

    Raises:
        SpecError: If no network was trained.
    """
    table = result.tables.get("curves")
    if table is None:
        raise SpecError(
            "No network was trained in this study: add the invertible network or the MLP to the "
            "maps."
        )
    if not method:
        return beside(
            [curve_chart(result, name, context=context) for name in trained(result)],
            context=context,
        )
    low, high = span_of(table["validation"])
    table = (
        table[table["method"] == method]
        .groupby(["layer", "step"], as_index=False)["validation"]
        .mean()
    )
    layers = sorted(set(table["layer"]))
    rows = table.assign(name=[f"layer {layer}" for layer in table["layer"]])
    looks = graded([f"layer {layer}" for layer in layers], point=False)
    steps = (0.0, float(max(result.tables["curves"]["step"].max(), 1)))
    plane = Plane(
        *("step", "validation", "Training step", "Validation error", low, high, steps),
        x_axis={"tickCount": 5},
        context=context,
    )
    what = f"Training: {METHODS[method].label}"
    below = "step 0: closed-form map; each line ends when its network has converged"
    return curves_of_methods(rows, plane, looks, what, below)


def space_chart(
    result: Result,
    source: str,
    target: str,
    method: str,
    layer: int,
    place: str,
    *,
    context: Context = PAGE,
) -> Chart:
    """Draw held-out words on the target's first two principal components, before or after the map.

    Args:
        result: Of the alignment study.
        source, target: References of the pair.
        method: The map.
        layer: Index among the layers of the study.
        place: "source" for the words before the map, "mapped" for after it.

    Raises:
        SpecError: If the projection does not exist (before the map, for spaces of different
            widths).
    """
    import pandas as pd

    refs, methods = list(result.spec["models"]), list(result.spec["methods"])
    pair = (refs.index(source), refs.index(target), layer)
    theirs = result.arrays["target_points"][pair]
    ours = result.arrays["source_points"][pair] if place == "source" else None
    if ours is None:
        ours = result.arrays["mapped_points"][(methods.index(method), *pair)]
    there = np.isfinite(ours).all(-1) & np.isfinite(theirs).all(-1)
    if not there.any():
        raise SpecError(
            f"{source} was not mapped into {target} by {method}: choose another pair or map."
        )
    ours, theirs = ours[there], theirs[there]
    who = np.flatnonzero(there).astype(str)  # highlights a word in both panels
    ends = pd.DataFrame(
        {"who": who, "x": ours[:, 0], "y": ours[:, 1], "x2": theirs[:, 0], "y2": theirs[:, 1]}
    )
    names = short_names((source, target))
    spaces = (names[source] if place == "source" else f"{names[source]}, mapped", names[target])
    dots = pd.concat(
        [
            pd.DataFrame({"who": who, "space": name, "x": at[:, 0], "y": at[:, 1]})
            for name, at in zip(spaces, (ours, theirs), strict=True)
        ]
    )
    axis = {"labels": False, "ticks": False, "grid": False}
    x = channel("x:Q", title="First principal component of the target", axis=axis)
    y = channel("y:Q", title="Second principal component", axis=axis)
    colour = channel(
        "space:N",
        title=None,
        scale={"domain": list(spaces), "range": [ORANGE, BLUE]},
        legend=legend(),
    )
    shape = channel(
        "space:N",
        title=None,
        scale={"domain": list(spaces), "range": list(SHAPES[:2])},
        legend=legend(),
    )
    rules = Chart(ends).mark_rule(opacity=0.35, color=GREY).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    points = Chart(dots).mark_point(filled=True, size=26, opacity=0.8)
    points = points.encode(
        x=x, y=y, color=colour, shape=shape, tooltip=[channel("space:N", title="Space")]
    )
    what = "Before the map" if place == "source" else f"After the map: {METHODS[method].label}"
    apart = float(np.linalg.norm(ours - theirs, axis=1).mean())
    across = float(np.linalg.norm(theirs - theirs.mean(0), axis=1).mean()) or 1.0
    words = (
        f"{what}. Scatter plot of {len(ours)} words in two spaces, {spaces[0]} and {spaces[1]}. "
        f"The mean distance between the two vectors of a word is {text_of(apart / across)} of the "
        "words' mean distance from their centre."
    )
    chart = layered(rules, points).properties(
        title=heading(what, "each line joins the two vectors of a word"),
        width="container",
        height=context.height(SPACE),
        description=words,
    )
    return chart


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw every chart that the result has the numbers for, by file name; the main one first."""
    if result.table.empty:
        return {}
    groups = set(
        result.tables["layers"]["group"]
    )  # a group is missing where all of its pairs failed
    charts: dict[str, Chart] = {}
    if "models" in groups:
        charts |= {
            "methods": method_chart(result, context=context),
            "layers": layer_chart(result, context=context),
        }
    if "against" in groups:
        charts["layers-second-group"] = layer_chart(result, "against", context=context)
    if "models" in groups:
        words, means = judged(result.tables["methods"]), result.tables["methods"]
        if "gains" in result.tables:
            charts["gains"] = gain_chart(result, context=context)
        charts["pairs"] = pair_chart(result, best_map(means, words), context=context)
    if "grid" in result.tables:
        charts["grid"] = grid_chart(result, context=context)
    if "curves" in result.tables:
        charts["training"] = curve_chart(result, context=context)
    return charts


def _test(result: Result, words: str) -> pd.DataFrame:
    """Held-out errors of the first group on one kind of words."""
    table = result.table[(result.table["split"] == "test") & (result.table["words"] == words)]
    table = table[
        table["source"].isin(result.spec["models"]) & table["target"].isin(result.spec["models"])
    ]
    return with_labels(table)


def _clustered(table: pd.DataFrame) -> list[str]:
    """Models in the order of average-linkage clustering by error, averaged over both directions."""
    models = sorted(set(table["source"]) | set(table["target"]))
    if len(models) < 3:
        return models
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    place = {ref: number for number, ref in enumerate(models)}
    distance = np.zeros((len(models), len(models)))
    for row in table.itertuples():
        distance[place[row.source], place[row.target]] += row.nmse / 2
        distance[place[row.target], place[row.source]] += row.nmse / 2
    return [
        models[leaf] for leaf in leaves_list(linkage(squareform(distance, checks=False), "average"))
    ]
