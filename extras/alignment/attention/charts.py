"""Charts of attention: matched heads, all heads of a pair, mapped outputs."""

from __future__ import annotations

from dataclasses import replace

from core.results.drawing.axes import layer_plane
from core.results.drawing.curves import HEIGHT, grey_band, look_channels
from core.results.drawing.style import BROWN, COLOURS, SHAPES, heading, legend
from core.studies.alignment.seeds.curves import error_chart
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Result,
    Tip,
    heatmap,
    layered,
    short_names,
    span_of,
    text_of,
    tip_of,
    with_tooltips,
)

HEADS = 268  # height of the plot of matched heads, with a legend below
LAYER_FROM_1 = "Layer (1 = the first after the embeddings)"


def head_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the correlation of matched heads by layer, a point per head and pair, random matchings
    in grey."""
    table = result.tables["heads"]
    names = short_names(dict.fromkeys([*table["source"], *table["target"]]))
    table = table.assign(pair=table["source"].map(names) + " into " + table["target"].map(names))
    pairs = list(dict.fromkeys(table["pair"]))
    null = table.groupby("layer", as_index=False)[["null_low", "null_high"]].mean()
    ends = span_of(table["correlation"], null["null_low"], null["null_high"], zero=True)
    plane = layer_plane(
        table, "correlation", tip_of("correlation").title, ends, x_title=LAYER_FROM_1,
        height=HEADS, context=context,
    )  # fmt: skip
    rows, tooltip = with_tooltips(
        table, (Tip("pair", "Models"), "layer", "heads.head", "match", "correlation")
    )
    # Two directions often match the same heads: their points are drawn side by side.
    spread = {pair: 0.4 * ((place + 0.5) / len(pairs) - 0.5) for place, pair in enumerate(pairs)}
    rows = rows.assign(at=rows["layer"] + rows["pair"].map(spread))
    wide = replace(plane, x_ends=(plane.x_ends[0] - 0.3, plane.x_ends[1] + 0.3))
    x = wide.x_of()
    looks = {
        pair: Look(COLOURS[place % len(COLOURS)], SHAPES[place % len(SHAPES)])
        for place, pair in enumerate(pairs)
    }
    points = Chart(rows).mark_point(filled=True, size=45, opacity=0.75).encode(
        x=wide.x_of(column="at"),
        y=plane.y_of(),
        tooltip=tooltip,
        **look_channels(looks, "pair", legend()),
    )  # fmt: skip
    band = grey_band(null, "Random matchings")(plane, x)
    by_layer = table.groupby("layer")["correlation"].mean()
    means, told_mean = with_tooltips(
        by_layer.reset_index(name="mean"), ("layer", Tip("mean", "Mean of the layer", "share"))
    )
    mean = Chart(means).mark_tick(
        orient="horizontal", size=34 * context.thin, thickness=3, color=BROWN, opacity=1
    )  # fmt: skip
    title = "Correlation of matched attention heads"
    averages = [f"{text_of(float(value))} at layer {layer}" for layer, value in by_layer.items()]
    words = (
        f"{title}. Points for {len(table)} heads by layer; mean correlation {', '.join(averages)}. "
        f"Grey band: mean of random matchings, up to {text_of(float(null['null_high'].max()))}."
    )
    below = "bars: mean of a layer; grey: mean of random matchings, 95 % range; held-out sentences"
    bars = mean.encode(x=x, y=plane.y_of("mean"), tooltip=told_mean)
    return layered(band, points, bars).properties(
        title=heading(title, below),
        width="container",
        height=plane.pixels,
        description=words,
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
        f"{source} and {target}, held-out sentences; 3.0 is layer 3, head 0",
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
