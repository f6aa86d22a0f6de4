"""Charts of the layer swap: the task's score by layer, compared with the unmodified fine-tune and
the baselines.

Swaps with the base are drawn in colour, those with random weights in grey, each with a band of the
same kind.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from core.results.drawing.style import BLUE, BROWN, GREEN, GREY, ORANGE, PINK, SHAPES
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Panels,
    Plane,
    Result,
    Rule,
    Tip,
    layer_chart,
    layered,
    metric_of,
    short_names,
    with_tooltips,
)
from core.studies.rsa.swap.interventions import WAYS
from core.vectors.examples import METRICS

HEIGHT = 286  # the toggle stands above it, and the figure ends on the first screen
UNMODIFIED, CHANCE = "unmodified", "majority baseline"
LOOKS = {  # colour, dash
    "below": (BLUE, [1, 0]),
    "above": (GREEN, [1, 0]),
    "truncated": (PINK, [6, 3]),
    "noise below": (ORANGE, [2, 3]),
    "random below": (GREY, [6, 4]),
    "layer": (BLUE, [1, 0]),
    "only": (BROWN, [6, 3]),
    "removed": (PINK, [6, 3]),
    "noise layer": (ORANGE, [2, 3]),
    "random layer": (GREY, [6, 4]),
}
KINDS = {  # file, what is reverted, the swaps drawn at first, and all of them
    "single": (
        *("swap-one-layer", "one layer reverted", ("layer", "random layer")),
        ("layer", "noise layer", "random layer", "removed", "only"),
    ),
    "cut": (
        *("swap-up-to-layer", "layers 0 to k reverted", ("below", "random below")),
        ("below", "noise below", "above", "truncated", "random below"),
    ),
}


def draw_swaps(result: Result, every: bool = False, *, context: Context = PAGE) -> Panels:
    """Draw two panels for each fine-tune: one layer reverted, and all up to a layer."""
    drawn = [
        (name + "-all" * every, swap_chart(result, kind, model, every=every, context=context))
        for model in dict.fromkeys(result.table["model"])
        for kind, (name, *_) in KINDS.items()
    ]
    names, charts = zip(*drawn, strict=True)
    return Panels(charts, names=names)


def swap_chart(
    result: Result, kind: str, model: str, *, every: bool = False, context: Context = PAGE
) -> Chart:
    """Draw the task's score by layer, of "single" layers or of a "cut" up to k. With `every`, all
    kinds of swap and the majority baseline; without it the base's layers, random weights and the
    unmodified score, three lines that are easy to tell apart."""
    table, unmodified = result.table, result.tables["own"].set_index("model").loc[model]
    _, reverted, first, whole = KINDS[kind]
    rows = table[(table["model"] == model) & table["way"].isin(whole if every else first)]
    rows = rows.assign(name=rows["way"].map(WAYS))
    ways = [way for way in (whole if every else first) if way in set(rows["way"])]
    title = metric_of(METRICS[str(unmodified["task"])]).title
    low, high = float(rows["low"].min()), float(max(rows["high"].max(), unmodified["high"]))
    low = min(low, float(unmodified["chance"])) if every else low
    looks = {
        WAYS[way]: Look(LOOKS[way][0], SHAPES[n % len(SHAPES)], LOOKS[way][1])
        for n, way in enumerate(ways)
    }
    rules = [
        Rule(UNMODIFIED, unmodified["score"], (4, 4)), Rule(CHANCE, unmodified["chance"], (1, 3))
    ]  # fmt: skip
    frozen = result.tables.get("frozen")
    mine = frozen[frozen["of"] == model] if frozen is not None else None
    below, over = "bands: 95 %, over sentences", []
    if kind == "cut" and mine is not None and len(mine):
        over = [partial(_frozen, mine)]
        below += "; diamonds: fine-tuned with layers 0 to k frozen"
    what = f"{short_names(tuple(dict.fromkeys(table['model'])))[model]}: {reverted}"
    return layer_chart(
        rows,
        "score",
        looks,
        what,
        below,
        y_title=title,
        x_title="Layer k (0 = embeddings)",
        ends=(max(0.0, low - 0.03), min(1.0, high + 0.03)),
        rules=rules if every else rules[:1],
        line="Swap",
        also=["loss", "excess"],
        over=over,
        height=HEIGHT,
        context=context,
    )


def _frozen(table: pd.DataFrame, plane: Plane, x: dict[str, Any]) -> Chart:
    """Draw the scores of fine-tunes with frozen lower layers, at the highest frozen layer."""
    rows, tooltip = with_tooltips(
        table, ("model", "frozen.layer", Tip("score", plane.y_title, plane.kind), "low")
    )
    base = Chart(rows).encode(x=x)
    return layered(
        base.mark_rule(color=BLUE, strokeWidth=1.5).encode(y=plane.y_of("low"), y2="high:Q"),
        base.mark_point(shape="diamond", filled=True, size=140, color=BLUE, opacity=1).encode(
            y=plane.y_of(), tooltip=tooltip
        ),
    )
