"""Charts of the alignment room: error by method and layer, pairs, layers into layers, training, the space itself.

Methods keep their colours on every chart; controls are grey and dashed. No chart sets a background or a text colour,
so a light and a dark theme both fit; one without panels stretches to its container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from core.alignment.maps.registry import METHODS
from core.alignment.seeds.curves import ERROR_TITLE, HEIGHT, ceiling_of, curves_of_methods, error_chart, with_labels
from core.alignment.seeds.text import WHICH, judged
from core.errors import SpecError
from core.results.drawing.axes import Plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import BREAK, graded
from core.results.drawing.description import bars_in_words, cells_in_words
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.panels import beside
from core.results.drawing.style import BLUE, BROWN, GREY, ORANGE, SHAPES, heading, legend
from core.results.drawing.vega import Chart, OfWidth, channel, layered
from core.results.names import short_names
from core.results.numbers import Tip, label_expr, text_of, told

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

GRID, SPACE = 295, 270  # heights of plots below which stands more than an axis
GROUPS = {"models": "first group", "against": "second group"}


def method_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Held-out error by method: a box over all pairs and layers, the mean with its band and as a number."""
    words = judged(result.tables["methods"])
    table = _test(result, words)
    if table.empty:
        raise SpecError("There is no pair to draw.")
    means = with_labels(result.tables["methods"])
    means = means[(means["group"] == "models") & (means["words"] == words)]
    shown = [METHODS[name].label for name in result.spec["methods"] if name in set(table["method"])]
    ceiling = ceiling_of(table["nmse"])
    spread = table.groupby("label")["nmse"].quantile([0.0, 0.25, 0.5, 0.75, 1.0]).unstack()
    spread.columns = ["least", "lower", "median", "upper", "most"]
    tips = (Tip("label", "Method"), Tip("nmse", "Mean error", "share"), Tip("low", "Band, 95 %", "share"))
    rows, tooltip = told(means.merge(spread.reset_index(), on="label"), tips)
    rows = rows.assign(written=[text_of(value) for value in rows["nmse"]], out=rows["nmse"] > ceiling, edge=ceiling)
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
        base.mark_bar(size=14, opacity=0.55, clip=True).encode(x=along("lower"), x2="upper:Q", color=colour),
        base.mark_tick(size=14, thickness=2, color=GREY, clip=True).encode(x=along("median")),
        *([chance.encode(x=along("one"))] if ceiling > 1 else []),
        base.mark_rule(strokeWidth=3, clip=True, color=BROWN).encode(x=along("low"), x2="high:Q"),
        inside.mark_point(filled=True, size=70, shape="diamond", opacity=1, color=ORANGE).encode(x=along("nmse")),
        beyond.encode(x=along("edge")),
        base.mark_text(align="left", dx=8, fontSize=context.letter).encode(
            x=along("edge"), text="written:N"
        ),
    ]
    what = f"Error by method: {WHICH[words]}"
    below = "boxes: pairs and layers; diamonds and numbers: mean; bars: its band, 95 %" + (
        "; two strokes: the mean lies beyond the axis" if rows["out"].any() else ""
    )
    order = rows.assign(place=rows["label"].map(shown.index)).sort_values("place")
    height = context.height(max(HEIGHT * 0.5, 26 * len(shown)))
    chart = layered(*layers).properties(
        title=heading(what, below),
        width="container",
        height=height,
        description=bars_in_words(order, f"{what}, mean of each method", name="label", value="nmse"),
    )
    return chart


def layer_chart(result: Result, group: str = "models", *, context: Context = PAGE) -> Chart:
    """Held-out error by layer, one curve per method, with bands over models and what was held out."""
    words, table = judged(result.tables["methods"]), result.tables["layers"]
    table = table[(table["group"] == group) & (table["words"] == words)]
    if table.empty:
        raise SpecError(f"There is no {GROUPS.get(group, group)} in this study.")
    which = f", {GROUPS[group]}" if result.spec["against"] else ""
    return error_chart(
        table,
        f"Error by layer{which}: {WHICH[words]}",
        "0: the target exactly; 1: no better than its mean; bands: 95 %", context=context,
    )


def grid_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Any layer of the source into any layer of the target, for the first pair."""
    table = result.tables.get("grid")
    if table is None:
        raise SpecError("This study has no layer-by-layer map.")
    names = short_names(result.spec["models"])
    source, target = (names[ref] for ref in result.spec["models"][:2])
    titles = (f"Layer of {target}", f"Layer of {source}", "Error")
    tips = (Tip("source_layer", "From layer", "whole"), Tip("target_layer", "into layer", "whole"))
    chart = heatmap(
        table, x="target_layer", y="source_layer", value="nmse", titles=titles, ends=(0.0, 1.0), reverse=True,
        tips=(*tips, Tip("nmse", "Error", "share")), height=GRID, context=context,
    )  # fmt: skip
    what = "Any layer into any layer"
    below = f"{METHODS[result.spec['grid']].label}, {source} into {target}, held out"
    words = cells_in_words(
        table, f"{what}: {below}", row="source_layer", column="target_layer", value="nmse", value_title="error"
    )
    return chart.properties(title=heading(what, below), description=words)


def pair_chart(result: Result, method: str, *, context: Context = PAGE) -> Chart:
    """Mean held-out error over layers of every directed pair, models in the order of their clustering."""
    words = judged(result.tables["methods"])
    table = _test(result, words)
    table = table[table["method"] == method].groupby(["source", "target"], as_index=False)["nmse"].mean()
    if table.empty:
        raise SpecError(f"There is no pair aligned by {method}.")
    names = short_names(dict.fromkeys([*table["source"], *table["target"]]))
    order = [names[ref] for ref in _clustered(table)]
    table = table.assign(source=table["source"].map(names), target=table["target"].map(names))
    chart = heatmap(
        table, x="target", y="source", value="nmse", titles=("Into", "From", "Error"), ends=(0.0, 1.0), reverse=True,
        tips=(Tip("source", "From"), Tip("target", "Into"), Tip("nmse", "Error", "share")), order=(order, order),
        angle=-45 if len(order) > 4 else 0, height=max(160, min(HEIGHT + 120, 46 * len(order))),
        context=context,
    )  # fmt: skip
    what, below = "Pair by pair", f"{METHODS[method].label}: {WHICH[words]}, mean over layers"
    said = cells_in_words(table, f"{what}, {below}", row="source", column="target", value="nmse", value_title="error")
    return chart.properties(title=heading(what, below), description=said)


def trained(result: Result) -> list[str]:
    """The networks whose training was recorded."""
    table = result.tables.get("curves")
    return [] if table is None else [name for name in METHODS if (table["method"] == name).any()]


def curve_chart(result: Result, method: str = "", *, context: Context = PAGE) -> Chart:
    """Validation error of a network during training, one curve per layer, mean over pairs.

    Args:
        result: Of the alignment study.
        method: One network, for a chart that stretches; all beside each other without it.

    Raises:
        SpecError: If no network was trained.
    """
    table = result.tables.get("curves")
    if table is None:
        raise SpecError("No network was trained in this study.")
    if not method:
        return beside(
            [curve_chart(result, name, context=context) for name in trained(result)],
            context=context,
        )
    low, high = span_of(table["validation"])
    table = table[table["method"] == method].groupby(["layer", "step"], as_index=False)["validation"].mean()
    layers = sorted(set(table["layer"]))
    rows = table.assign(name=[f"layer {layer}" for layer in table["layer"]])
    looks = graded([f"layer {layer}" for layer in layers], point=False)
    steps = (0.0, float(max(result.tables["curves"]["step"].max(), 1)))
    plane = Plane(
        *("step", "validation", "Training step", "Validation error", low, high, steps),
        x_axis={"tickCount": 5}, context=context
    )
    what = f"Training: {METHODS[method].label}"
    below = "step 0: closed form; a line ends where its map converged"
    return curves_of_methods(rows, plane, looks, what, below)


def space_chart(
    result: Result, source: str, target: str, method: str, layer: int, place: str, *,
    context: Context = PAGE,
) -> Chart:
    """Words of the test sentences on the target's first two principal components, before or after the map.

    Args:
        layer: Index among the layers of the study.
        place: "source" for the words before the map, "mapped" for after it.

    Raises:
        SpecError: If there is no such picture (before the map, for spaces of different widths).
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
        raise SpecError(f"There is no picture of {source} into {target} by {method}.")
    ours, theirs = ours[there], theirs[there]
    who = np.flatnonzero(there).astype(str)  # a word stands out before and after its map
    ends = pd.DataFrame({"who": who, "x": ours[:, 0], "y": ours[:, 1], "x2": theirs[:, 0], "y2": theirs[:, 1]})
    names = short_names((source, target))
    spaces = (names[source] if place == "source" else f"{names[source]}, mapped", names[target])
    dots = pd.concat(
        [
            pd.DataFrame({"who": who, "space": name, "x": at[:, 0], "y": at[:, 1]})
            for name, at in zip(spaces, (ours, theirs), strict=True)
        ]
    )
    axis = {"labels": False, "ticks": False, "grid": False}
    x = channel("x:Q", title="Target's first component", axis=axis)
    y = channel("y:Q", title="Second component", axis=axis)
    colour = channel("space:N", title=None, scale={"domain": list(spaces), "range": [ORANGE, BLUE]}, legend=legend())
    shape = channel("space:N", title=None, scale={"domain": list(spaces), "range": list(SHAPES[:2])}, legend=legend())
    rules = Chart(ends).mark_rule(opacity=0.35, color=GREY).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    points = Chart(dots).mark_point(filled=True, size=26, opacity=0.8)
    points = points.encode(x=x, y=y, color=colour, shape=shape, tooltip=[channel("space:N", title="Space")])
    what = "Before the map" if place == "source" else f"After the map: {METHODS[method].label}"
    apart = float(np.linalg.norm(ours - theirs, axis=1).mean())
    across = float(np.linalg.norm(theirs - theirs.mean(0), axis=1).mean()) or 1.0
    words = (
        f"{what}. Scatter plot of {len(ours)} words in two spaces, {spaces[0]} and {spaces[1]}; "
        f"the two places of a word are {text_of(apart / across)} of the words' "
        "mean distance from their centre apart, on average."
    )
    chart = layered(rules, points).properties(
        title=heading(what, "lines join the same word"),
        width="container",
        height=context.height(SPACE),
        description=words,
    )
    return chart


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    if result.table.empty:
        return {}
    groups = set(result.tables["layers"]["group"])  # all pairs of a group may have failed
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
        charts["pairs"] = pair_chart(result, best_method(means, words), context=context)
    if "grid" in result.tables:
        charts["grid"] = grid_chart(result, context=context)
    if "curves" in result.tables:
        charts["training"] = curve_chart(result, context=context)
    return charts


def best_method(means: pd.DataFrame, words: str) -> str:
    """The method with the lowest mean error in the first group."""
    rows = means[(means["group"] == "models") & (means["words"] == words)]
    return str(rows.sort_values("nmse")["method"].iloc[0])


def _test(result: Result, words: str) -> pd.DataFrame:
    """Held-out errors of the first group on these words."""
    table = result.table[(result.table["split"] == "test") & (result.table["words"] == words)]
    table = table[table["source"].isin(result.spec["models"]) & table["target"].isin(result.spec["models"])]
    return with_labels(table)


def _clustered(table: pd.DataFrame) -> list[str]:
    """Models in the order of average-linkage clustering of their errors, both directions averaged."""
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
    return [models[leaf] for leaf in leaves_list(linkage(squareform(distance, checks=False), "average"))]
