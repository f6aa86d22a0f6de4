"""Charts of the alignment experiments: stitched models, the bijection check, attention."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from core.results.columns import Tip, told
from core.results.drawing.axes import Plane, layer_plane, span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import HEIGHT, Rule, grey_band, layer_chart, line_chart
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.style import COLOURS, SHAPES, heading, legend
from core.results.drawing.vega import Chart, channel, layered
from core.results.names import short_names
from core.results.numbers import text_of
from core.studies.alignment.seeds.curves import (
    ERROR_TITLE,
    error_chart,
    method_looks,
    named_methods,
)

if TYPE_CHECKING:
    from core.results.export import Result

HEADS = 290  # height of the plot of matched heads, with a legend below
LOWEST = 1e-6  # lower errors are rounding and drawn here
OWN = "unmodified models"
LAYER_FROM_1 = "Layer (1 = the first after the embeddings)"


def stitching_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw accuracy by the layer of the stitch, mean over pairs of different models, and of
    unmodified models."""
    rows = named_methods(result.tables["means"])
    unstitched = float(result.tables["own"]["accuracy"].mean())
    low, high = span_of(rows["accuracy"], rows["low"], rows["high"], [unstitched])
    looks = method_looks(rows["method"])
    below = "dashed line across: unmodified models; bands: 95 % intervals over sentences"
    return layer_chart(
        rows, "accuracy", looks, "Accuracy of stitched models", below,
        x_title="Layer of the stitch (0 = embeddings)", ends=(max(low, 0.0), min(high, 1.0)),
        rules=[Rule(OWN, unstitched, (4, 4))], line="Map", context=context,
    )  # fmt: skip


def check_chart(result: Result, truth: str, meaning: str, *, context: Context = PAGE) -> Chart:
    """Draw the error of undoing one form of bijection, by its number of blocks, one line per map.

    Args:
        result: Of the bijection check.
        truth: The form.
        meaning: A description of the form.
    """
    rows = named_methods(result.table[result.table["truth"] == truth])
    rows = rows.assign(shown=np.maximum(rows["nmse"], LOWEST))
    values = np.log10(rows["shown"])
    blocks = sorted(int(count) for count in set(rows["blocks"]))
    plane = Plane(
        *("blocks", "shown", "Blocks of the bijection (0 = a rotation)", ERROR_TITLE),
        *(float(10 ** (values.min() - 0.15)), float(10 ** (values.max() + 0.15))),
        (float(blocks[0]), float(max(blocks[-1], blocks[0] + 1))),
        kind="measure",
        height=HEIGHT,
        x_axis={"values": blocks, "format": "d"},
        y_log=True,
        context=context,
    )
    what = f"Undoing a known bijection: {truth}"
    return line_chart(rows, plane, method_looks(rows["method"]), what, meaning, line="Map")


def head_chart(result: Result, *, context: Context = PAGE) -> Chart:
    """Draw the correlation of matched heads by layer, a point per head and pair, random matchings
    in grey."""
    table = result.tables["heads"]
    names = short_names(dict.fromkeys([*table["source"], *table["target"]]))
    table = table.assign(pair=table["source"].map(names) + " into " + table["target"].map(names))
    pairs = list(dict.fromkeys(table["pair"]))
    null = table.groupby("layer", as_index=False)[["null_low", "null_high"]].mean()
    ends = span_of(table["correlation"], null["null_low"], null["null_high"], zero=True)
    title = "Correlation of matched heads"
    plane = layer_plane(
        table, "correlation", title, ends, x_title=LAYER_FROM_1, height=HEADS, context=context
    )
    rows, tooltip = told(
        table, (Tip("pair", "Models"), "layer", "heads.head", "match", "correlation")
    )
    # Two directions often match the same heads: their points are drawn side by side.
    spread = {pair: 0.4 * ((place + 0.5) / len(pairs) - 0.5) for place, pair in enumerate(pairs)}
    rows = rows.assign(at=rows["layer"] + rows["pair"].map(spread))
    wide = replace(plane, x_ends=(plane.x_ends[0] - 0.3, plane.x_ends[1] + 0.3))
    x = wide.x_of()
    looks = [{"domain": pairs, "range": [values[n % len(values)] for n in range(len(pairs))]}
             for values in (COLOURS, SHAPES)]  # fmt: skip
    points = (
        Chart(rows)
        .mark_point(filled=True, size=45, opacity=0.75)
        .encode(
            x=wide.x_of(column="at"),
            y=plane.y_of(),
            color=channel("pair:N", title=None, scale=looks[0], legend=legend()),
            shape=channel("pair:N", title=None, scale=looks[1], legend=legend()),
            tooltip=tooltip,
        )
    )
    band = grey_band(null, "Random matchings")(plane, x)
    by_layer = table.groupby("layer")["correlation"].mean()
    what = "Correlation of matched attention heads"
    words = (
        f"{what}. Points for {len(table)} heads by layer; mean correlation "
        + ", ".join(
            f"{text_of(float(value))} at layer {layer}" for layer, value in by_layer.items()
        )
        + f". Grey band: mean of random matchings, up to {text_of(float(null['null_high'].max()))}."
    )
    chart = layered(band, points).properties(
        title=heading(what, "held-out sentences; grey: mean of random matchings, 95 % range"),
        width="container",
        height=plane.pixels,
        description=words,
    )
    return chart


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
