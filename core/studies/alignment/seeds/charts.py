"""Charts of the alignment study: what each method predicts, pairs, every layer into every layer;
lines are in `curves`, the space is in `space`.

Methods have the same colours in every chart; controls are grey and dashed. No chart sets a
background or a text colour, so that it fits a light and a dark theme; a chart without panels
stretches to its container.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from core.errors import SpecError
from core.maths.maps.registry import METHODS
from core.results.drawing.curves import HEIGHT
from core.results.drawing.description import bars_in_words
from core.results.drawing.labels import BREAK
from core.results.drawing.style import BROWN, GREY, ORANGE, heading
from core.results.drawing.vega import OfWidth
from core.studies.alignment.seeds.curves import ceiling_of, named_methods
from core.studies.alignment.seeds.spec import AGAIN
from core.studies.alignment.seeds.statements import judged
from core.studies.alignment.seeds.tables import held_out, pair_errors, rows_between
from core.studies.alignment.seeds.text import WHICH
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Result,
    Tip,
    channel,
    heatmap,
    labels_of,
    layered,
    short_names,
    text_of,
    tip_of,
    with_tooltips,
)

PREDICTED = "Variance predicted"
SHARES = ("nmse", "low", "high", "least", "lower", "median", "upper", "most", "again")
MOST_HEIGHT = 325  # with which the rows of all maps fit below a headline
GRID = 264  # height of a plot with a legend below


def method_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the share of held-out variance that each method predicts: a box over pairs and layers,
    the mean with its interval and as a number. Raises SpecError if no pair was aligned."""
    words = judged(result.tables["methods"])
    table = named_methods(held_out(result.table, result.spec["models"], words))
    if table.empty:
        raise SpecError("No pair of the first group was aligned, so there is nothing to draw.")
    shown = [METHODS[name].label for name in result.spec["methods"] if name in set(table["method"])]
    floor = 1.0 - ceiling_of(table["nmse"])
    again_tip = Tip("again", "Second run of the seed", "per cent")
    tips = (Tip("name", "Map"), Tip("mean", PREDICTED, "per cent"), "low", again_tip)
    rows, tooltip = with_tooltips(_boxes(result, table, words), tips)
    rows = rows.assign(written=[text_of(each, "per cent") for each in rows["mean"]])
    rows = rows.assign(out=rows["mean"] < floor, edge=1.0, begin=floor)
    room = round(4.4 * context.letter)
    beside = OfWidth(f"width - {room}", lambda width: round(width - room, 1))
    scale = {"domain": [floor, 1.0], "nice": False, "zero": False, "range": [0, beside]}
    axis = {**labels_of("per cent"), "tickCount": 6}

    def along(column: str) -> dict[str, Any]:
        return channel(f"{column}:Q", title=PREDICTED, scale=scale, axis=axis)

    drawn = {each.label: each.colour for each in METHODS.values() if each.label in shown}
    domain = {"domain": [*drawn], "range": [*drawn.values()]}
    colour = channel("name:N", scale=domain, legend=None)
    y = channel("name:N", title=None, sort=shown, axis={"labelLimit": 160, "ticks": False})
    base = Chart(rows).encode(y=y, tooltip=tooltip)
    inside = base.filtered("!datum.out")
    nothing = Chart(rows.head(1).assign(zero=0.0))
    chance = nothing.mark_rule(strokeDash=[4, 4], color=GREY, clip=True)
    again = base.filtered("isValid(datum.again)").mark_point(
        filled=False, size=60, strokeWidth=2, opacity=1, color=BROWN, clip=True
    )
    beyond = base.filtered("datum.out").mark_point(
        shape=BREAK, angle=90, size=130, filled=False, strokeWidth=1.6, opacity=1, color=GREY
    )
    layers = [
        base.mark_rule(color=GREY, clip=True).encode(x=along("least"), x2="most:Q"),
        base.mark_bar(size=14, opacity=0.55, clip=True).encode(
            x=along("lower"), x2="upper:Q", color=colour
        ),
        base.mark_tick(size=14, thickness=2, color=GREY, clip=True).encode(x=along("median")),
        *([chance.encode(x=along("zero"))] if floor < 0 else []),
        base.mark_rule(strokeWidth=3, clip=True, color=BROWN).encode(x=along("low"), x2="high:Q"),
        inside.mark_point(filled=True, size=70, shape="diamond", opacity=1, color=ORANGE).encode(
            x=along("mean")
        ),
        *([again.encode(x=along("again"))] if rows["again"].notna().any() else []),
        *([beyond.encode(x=along("begin"))] if rows["out"].any() else []),
        base.mark_text(align="left", dx=8, fontSize=context.letter).encode(
            x=along("edge"), text="written:N"
        ),
    ]
    title = f"Variance predicted by map on {WHICH[words]}"
    order = rows.assign(place=rows["name"].map(shown.index)).sort_values("place")
    height = context.height(max(HEIGHT * 0.5, min(26 * len(shown), MOST_HEIGHT)))
    description = bars_in_words(
        order, f"{title}, mean of each method", name="name", value="mean", kind="per cent"
    )
    return layered(*layers).properties(
        title=heading(title, _marks(rows)),
        width="container",
        height=height,
        description=description,
    )


def _marks(rows: pd.DataFrame) -> str:
    """Say what each mark of the chart by method is."""
    parts = {  # whether a mark is drawn
        "box: pairs and layers": True,
        "diamond and number: mean": True,
        "bar: 95 % interval": True,
        "circle: a second run of the seed": rows["again"].notna().any(),
        "two strokes: the mean is beyond the axis": rows["out"].any(),
    }
    return "; ".join(part for part, drawn in parts.items() if drawn)


def draw_grid(result: Result, *, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the error of the map from every source layer into every target layer of the first pair;
    no figure where there is no such map."""
    if "grid" not in result.tables:
        return {}
    names = short_names(result.spec["models"])
    source, target = (names[ref] for ref in result.spec["models"][:2])
    title = "Every layer into every layer"
    below = f"{METHODS[result.spec['grid']].label}, {source} into {target}, held-out error"
    chart = heatmap(
        result.tables["grid"],
        title,
        below,
        x="target_layer",
        y="source_layer",
        value="nmse",
        x_title=f"Layer of {target}",
        y_title=f"Layer of {source}",
        said=f"{title}: {below}",
        reverse=True,
        height=GRID,
        context=context,
    )
    return {"grid": chart}


def pair_chart(result: Result, method: str, *, context: Context = PAGE) -> Chart:
    """Draw the held-out error of every directed pair, averaged over layers; similar models are
    neighbours. Raises SpecError if the method aligned no pair."""
    words = judged(result.tables["methods"])
    held = held_out(result.table, result.spec["models"], words)
    table = pair_errors(held, method).sort_index().reset_index()
    if table.empty:
        raise SpecError(f"No pair was aligned by {method}: choose another map.")
    names = short_names(dict.fromkeys([*table["source"], *table["target"]]))
    order = [names[ref] for ref in _clustered(table)]
    table = table.assign(source=table["source"].map(names), target=table["target"].map(names))
    title = "Error of each pair"
    below = f"{METHODS[method].label}, {WHICH[words]}, mean over layers"
    return heatmap(
        table,
        title,
        below,
        x="target",
        y="source",
        value="nmse",
        x_title=tip_of("target").title,
        y_title=tip_of("source").title,
        said=f"{title}, {below}",
        reverse=True,
        order=(order, order),
        angle=-45 if len(order) > 4 else 0,
        height=max(160, min(HEIGHT + 120, 46 * len(order))),
        context=context,
    )


def _boxes(result: Result, table: pd.DataFrame, words: str) -> pd.DataFrame:
    """Make a row per method of the first group: the share that it predicts on average with the
    interval, its quartiles and ends, and its mean for a second run."""
    methods = named_methods(result.tables["methods"])
    again = rows_between(methods, words, AGAIN).set_index("method")["nmse"]
    means = rows_between(methods, words)
    means = means.assign(again=means["method"].map(again))
    spread = table.groupby("name")["nmse"].quantile([0.0, 0.25, 0.5, 0.75, 1.0]).unstack()
    spread.columns = ["least", "lower", "median", "upper", "most"]
    boxes = means.merge(spread.reset_index(), on="name")
    boxes = boxes.assign(**{name: 1.0 - boxes[name] for name in SHARES})  # predicted, not left
    return boxes.rename(columns={"nmse": "mean", "low": "high", "high": "low"})


def _clustered(table: pd.DataFrame) -> list[str]:
    """Order models by average-linkage clustering by error, averaged over both directions."""
    models = sorted({*table["source"], *table["target"]})
    if len(models) < 3:
        return models
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    errors = table.pivot(index="source", columns="target", values="nmse")
    errors = errors.reindex(index=models, columns=models, fill_value=0.0).fillna(0.0).to_numpy()
    tree = linkage(squareform((errors + errors.T) / 2, checks=False), "average")
    return [models[leaf] for leaf in leaves_list(tree)]
