"""Charts of the alignment room: error by method and layer, pairs, layers into layers, training, the space itself.

Methods keep their colours on every chart; controls are grey. No chart sets a background or a text colour, so a light
and a dark theme both fit; one without panels stretches to its container.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from core.alignment.headline import WHICH, judged
from core.alignment.registry import METHODS
from core.errors import SpecError
from core.results.charts import BLUE, GREY, ORANGE, heading
from core.results.names import short_name

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

HEIGHT = 320
TALL = 440  # with a legend of several rows below, which takes its room from the height
SOURCE, TARGET = "source", "target"
ERROR_TITLE = "Held-out error (share of variance)"
GROUPS = {"models": "first group", "against": "second group"}


def method_chart(result: Result) -> alt.TopLevelMixin:
    """Held-out error by method: a box over all pairs and layers, and the mean with its band."""
    import altair as alt

    words = judged(result.tables["methods"])
    table = _test(result, words)
    if table.empty:
        raise SpecError("There is no pair to draw.")
    order, ceiling = [METHODS[name].label for name in result.spec["methods"]], _ceiling(table)
    y = alt.Y("label:N", title=None, sort=order, axis=alt.Axis(labelLimit=160))
    x = alt.X("nmse:Q", title=ERROR_TITLE, scale=alt.Scale(domain=[0, ceiling], clamp=True))
    boxes = (
        alt.Chart(table)
        .mark_boxplot(extent="min-max", size=14, opacity=0.55, rule={"color": GREY}, median={"color": GREY})
        .encode(x=x, y=y, color=_colour(alt, result, legend=None))
    )
    means = with_labels(result.tables["methods"])
    means = means[(means["group"] == "models") & (means["words"] == words)]
    bands = (
        alt.Chart(means)
        .mark_rule(strokeWidth=3, clip=True, color=GREY)
        .encode(x=alt.X("low:Q", title=ERROR_TITLE), x2="high:Q", y=y)
    )
    points = (
        alt.Chart(means)
        .mark_point(filled=True, size=70, shape="diamond", color=ORANGE, clip=True)
        .encode(
            x="nmse:Q",
            y=y,
            tooltip=[
                alt.Tooltip("label:N", title="Method"),
                alt.Tooltip("nmse:Q", title="Mean error", format=".3f"),
                alt.Tooltip("low:Q", title="Band from", format=".3f"),
                alt.Tooltip("high:Q", title="to", format=".3f"),
            ],
        )
    )
    beyond = f"; above {ceiling:.1f} at the edge" if (table["nmse"] > ceiling).any() else ""
    below = f"boxes: pairs and layers; diamonds: mean; lines: 95 %{beyond}"
    title = heading(f"Error by method: {WHICH[words]}", below)
    return alt.layer(boxes, _chance(alt), bands, points).properties(title=title, width="container", height=HEIGHT)


def layer_chart(result: Result, group: str = "models") -> alt.TopLevelMixin:
    """Held-out error by layer, a curve per method, with bands over models and what was held out."""
    import altair as alt

    words, table = judged(result.tables["methods"]), result.tables["layers"]
    table = table[(table["group"] == group) & (table["words"] == words)]
    table = with_labels(table)
    if table.empty:
        raise SpecError(f"There is no {GROUPS.get(group, group)} in this study.")
    top = _ceiling(table)
    x = alt.X("layer:Q", title="Layer (0 = embeddings)", axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    y = alt.Y("nmse:Q", title=ERROR_TITLE, scale=alt.Scale(domain=[0, top], clamp=True))
    colour = _colour(
        alt, result, legend=alt.Legend(orient="bottom", columns=3, title=None, labelLimit=140, symbolOpacity=1)
    )
    tooltip = [
        alt.Tooltip("label:N", title="Method"),
        alt.Tooltip("layer:Q", title="Layer"),
        alt.Tooltip("nmse:Q", title="Error", format=".3f"),
        alt.Tooltip("low:Q", title="Band from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
    ]
    base = alt.Chart(table)
    bands = base.mark_area(opacity=0.15, clip=True).encode(
        x=x, y=alt.Y("low:Q", title=ERROR_TITLE), y2="high:Q", color=colour
    )
    lines = base.mark_line(point=True, clip=True).encode(x=x, y=y, color=colour, tooltip=tooltip)
    which = f", {GROUPS[group]}" if result.spec["against"] else ""
    title = heading(f"Error by layer{which}: {WHICH[words]}", "0: the target exactly; 1: no better than its mean")
    return alt.layer(bands, lines, _chance(alt, vertical=False)).properties(title=title, width="container", height=TALL)


def grid_chart(result: Result) -> alt.TopLevelMixin:
    """Any layer of the source into any layer of the target, for the first pair."""
    import altair as alt

    table = result.tables.get("grid")
    if table is None:
        raise SpecError("This study has no layer-by-layer map.")
    source, target = result.spec["models"][:2]
    chart = (
        alt.Chart(table)
        .mark_rect()
        .encode(
            x=alt.X("target_layer:O", title=f"Layer of {short_name(target)}", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("source_layer:O", title=f"Layer of {short_name(source)}", sort="descending"),
            color=alt.Color(
                "nmse:Q",
                title="Error",
                scale=alt.Scale(scheme="viridis", reverse=True, domain=[0, float(min(1.0, table["nmse"].max()))]),
            ),
            tooltip=[
                alt.Tooltip("source_layer:O", title="From layer"),
                alt.Tooltip("target_layer:O", title="into layer"),
                alt.Tooltip("nmse:Q", title="Error", format=".3f"),
            ],
        )
    )
    label = METHODS[result.spec["grid"]].label
    below = f"{label}, {short_name(source)} into {short_name(target)}, held out"
    title = heading("Any layer into any layer", below)
    return cast("alt.TopLevelMixin", chart.properties(title=title, width="container", height=HEIGHT))


def pair_chart(result: Result, method: str) -> alt.TopLevelMixin:
    """Mean held-out error over layers of every directed pair, models in the order of their clustering."""
    import altair as alt

    words = judged(result.tables["methods"])
    table = _test(result, words)
    table = table[table["method"] == method].groupby(["source", "target"], as_index=False)["nmse"].mean()
    if table.empty:
        raise SpecError(f"There is no pair aligned by {method}.")
    order = [short_name(ref) for ref in _clustered(table)]
    table = table.assign(source=table["source"].map(short_name), target=table["target"].map(short_name))
    base = alt.Chart(table).encode(
        x=alt.X("target:N", sort=order, title="Into", axis=alt.Axis(labelAngle=-45)),
        y=alt.Y("source:N", sort=order, title="From"),
    )
    cells = base.mark_rect().encode(
        color=alt.Color("nmse:Q", title="Error", scale=alt.Scale(scheme="viridis", reverse=True)),
        tooltip=["source:N", "target:N", alt.Tooltip("nmse:Q", title="Error", format=".3f")],
    )
    title = heading("Pair by pair", f"{METHODS[method].label}: {WHICH[words]}, mean over layers")
    return cast("alt.TopLevelMixin", cells.properties(title=title, width="container", height=HEIGHT))


def curve_chart(result: Result) -> alt.TopLevelMixin:
    """Validation error of the networks during training, a curve a layer, mean over pairs."""
    import altair as alt

    table = result.tables.get("curves")
    if table is None:
        raise SpecError("No network was trained in this study.")
    table = table.groupby(["method", "layer", "step"], as_index=False)["validation"].mean()
    table = with_labels(table)
    chart = (
        alt.Chart(table)
        .mark_line()
        .encode(
            x=alt.X("step:Q", title="Training step"),
            y=alt.Y("validation:Q", title="Validation error", scale=alt.Scale(zero=False)),
            color=alt.Color("layer:O", title="Layer", scale=alt.Scale(scheme="viridis")),
            strokeDash=alt.StrokeDash("label:N", title=None, legend=alt.Legend(orient="bottom", labelLimit=160)),
            tooltip=["label:N", "layer:O", "step:Q", alt.Tooltip("validation:Q", format=".3f")],
        )
    )
    title = heading("Training of the networks", "step 0: closed form; a line ends where its map converged")
    return cast("alt.TopLevelMixin", chart.properties(title=title, width="container", height=HEIGHT))


def space_chart(result: Result, source: str, target: str, method: str, layer: int, place: str) -> alt.TopLevelMixin:
    """Words of the test sentences on the target's first two principal components, before or after the map.

    Args:
        layer: Index among the layers of the study.
        place: "source" for the words before the map, "mapped" for after it.

    Raises:
        SpecError: If there is no such picture (before the map, for spaces of different widths).
    """
    import altair as alt
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
    ends = pd.DataFrame({"x": ours[:, 0], "y": ours[:, 1], "x2": theirs[:, 0], "y2": theirs[:, 1]})
    dots = pd.concat(
        [pd.DataFrame({"space": name, "x": at[:, 0], "y": at[:, 1]}) for name, at in ((SOURCE, ours), (TARGET, theirs))]
    )
    axis = alt.Axis(labels=False, ticks=False, grid=False)
    x = alt.X("x:Q", title="Target's first component", axis=axis)
    y = alt.Y("y:Q", title="Second component", axis=axis)
    colour = alt.Color(
        "space:N",
        title=None,
        scale=alt.Scale(domain=[SOURCE, TARGET], range=[ORANGE, BLUE]),
        legend=alt.Legend(orient="bottom"),
    )
    rules = alt.Chart(ends).mark_rule(opacity=0.35, color=GREY).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    points = alt.Chart(dots).mark_circle(size=26, opacity=0.8).encode(x=x, y=y, color=colour)
    title = heading("Before the map" if place == "source" else "After the map", "lines join the same word")
    return alt.layer(rules, points).properties(title=title, width="container", height=HEIGHT)


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    if result.table.empty:
        return {}
    groups = set(result.tables["layers"]["group"])  # all pairs of a group may have failed
    charts: dict[str, alt.TopLevelMixin] = {}
    if "models" in groups:
        charts |= {"methods": method_chart(result), "layers": layer_chart(result)}
    if "against" in groups:
        charts["layers-second-group"] = layer_chart(result, "against")
    if "grid" in result.tables:
        charts["grid"] = grid_chart(result)
    if "curves" in result.tables:
        charts["training"] = curve_chart(result)
    return charts


def with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The table with what charts call its methods."""
    return table.assign(label=table["method"].map(lambda name: METHODS[name].label))


def colour_of(table: pd.DataFrame) -> alt.Color:
    """The colours of the methods in a table, with a legend below."""
    import altair as alt

    names = [name for name in METHODS if name in set(table["method"])]
    scale = alt.Scale(domain=[METHODS[name].label for name in names], range=[METHODS[name].colour for name in names])
    legend = alt.Legend(orient="bottom", columns=3, labelLimit=140, symbolOpacity=1)
    return alt.Color("label:N", title=None, scale=scale, legend=legend)


def _test(result: Result, words: str) -> pd.DataFrame:
    """Held-out errors of the first group on these words."""
    table = result.table[(result.table["split"] == "test") & (result.table["words"] == words)]
    table = table[table["source"].isin(result.spec["models"]) & table["target"].isin(result.spec["models"])]
    return with_labels(table)


def _ceiling(table: pd.DataFrame) -> float:
    """The end of the error axis: 1.2 unless everything is below; what is above is drawn at the edge."""
    return float(min(1.2, max(0.2, table["nmse"].max() * 1.05)))


def _colour(altair: Any, result: Result, legend: object) -> alt.Color:
    names = [name for name in METHODS if name in result.spec["methods"]]
    scale = altair.Scale(domain=[METHODS[n].label for n in names], range=[METHODS[n].colour for n in names])
    return cast("alt.Color", altair.Color("label:N", title=None, scale=scale, legend=legend))


def _chance(alt: Any, vertical: bool = True) -> Any:
    """The line of a map that knows nothing but the mean."""
    import pandas as pd

    rule = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(strokeDash=[4, 4], color=GREY, clip=True)
    return rule.encode(x="one:Q") if vertical else rule.encode(y="one:Q")


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
