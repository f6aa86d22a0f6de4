"""Charts of attention: matched heads, all heads of a pair, mapped outputs."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from core.results.drawing.curves import HEIGHT, look_channels
from core.results.drawing.style import BROWN, COLOURS, SHAPES, legend
from core.results.drawing.vega import equals
from core.studies.alignment.seeds.curves import error_chart
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Plane,
    Result,
    Tip,
    heatmap,
    layer_chart,
    layered,
    short_names,
    span_of,
    text_of,
    tip_of,
    with_tooltips,
)

HEADS = 268  # height of the plot of matched heads, with a legend below
WIDEST = 40.0  # pixels that the points of one layer take, side by side
MEAN = "mean of heads"
LAYER_FROM_1 = "Layer (1 = the first after the embeddings)"


def head_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the correlation of matched heads by layer: a point per head and pair, their mean as a
    line, random matchings in grey."""
    table = result.tables["heads"]
    names = short_names(dict.fromkeys([*table["source"], *table["target"]]))
    heads = table.assign(pair=table["source"].map(names) + " into " + table["target"].map(names))
    columns = ["correlation", "null_low", "null_high"]
    means = table.groupby("layer", as_index=False)[columns].mean().assign(name=MEAN)
    title = "Correlation of matched attention heads"
    chance = text_of(float(means["null_high"].max()))
    words = f"{title}, a point for each of {len(table)} heads; random matchings reach {chance}"
    chart = layer_chart(
        means,
        "correlation",
        {MEAN: Look(BROWN, point=False, width=3)},
        title,
        "grey: mean of random matchings, 95 % range; held-out sentences",
        y_title=tip_of("correlation").title,
        x_title=LAYER_FROM_1,
        ends=span_of(table["correlation"], means["null_low"], means["null_high"], zero=True),
        null="Random matchings",
        tips=("layer", "correlation"),
        over=[partial(_heads, heads)],
        words={"what": words},
        height=HEADS,
        margin=0.3,
        context=context,
    )
    return chart.scales(shape="independent")


def _heads(rows: pd.DataFrame, plane: Plane, x: dict[str, Any]) -> Chart:
    """Points of the heads, for `over`; those of several pairs, which often match the same heads,
    stand side by side."""
    pairs = list(dict.fromkeys(rows["pair"]))
    tips = (Tip("pair", "Models"), "layer", "heads.head", "match", "correlation")
    points, tooltip = with_tooltips(rows, tips)
    looks = {
        pair: Look(COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)])
        for place, pair in enumerate(pairs)
    }
    channels = look_channels(looks, "pair", legend())
    base = Chart(points).encode(x=x, y=plane.y_of(), tooltip=tooltip, **channels)
    step = min(10.0, WIDEST / len(pairs))
    first = -step * (len(pairs) - 1) / 2
    return layered(
        *(
            base.filtered(equals("pair", pair)).mark_point(
                xOffset=first + step * place, filled=True, size=45, opacity=0.75
            )
            for place, pair in enumerate(pairs)
        )
    )


def matrix_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the correlation of every head of the first pair's source with every head of its target,
    in any layer."""
    table = result.tables["head_matrix"]
    ends = [str(table[name].iloc[0]) for name in ("source", "target")]
    names = short_names(dict.fromkeys(ends))
    source, target = (names[ref] for ref in ends)
    cells = table.assign(
        row=table["source_layer"].astype(str) + "." + table["source_head"].astype(str),
        column=table["target_layer"].astype(str) + "." + table["target_head"].astype(str),
    )
    rows, columns = (list(dict.fromkeys(cells[name])) for name in ("row", "column"))
    return heatmap(
        cells,
        "Correlation of every head with every head",
        f"held-out sentences, {source} and {target}; 3.0 is layer 3, head 0",
        x="column",
        y="row",
        value="correlation",
        order=(columns, rows[::-1]),
        height=2 * HEIGHT,
        x_title=f"Layer and head of {target}",
        y_title=f"Layer and head of {source}",
        tips=(Tip("row", source), Tip("column", target)),
        context=context,
    )


def output_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the held-out error of mapped attention outputs by layer, one line per method, mean over
    pairs."""
    table = result.tables["outputs"].groupby(["method", "layer"], as_index=False)["nmse"].mean()
    below = "mean over pairs; 0: perfect; 1: no better than the target's mean"
    return error_chart(
        table, "Error on attention outputs", below, x_title=LAYER_FROM_1, context=context
    )
