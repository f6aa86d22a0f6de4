"""The charts of the barrier: excess of the loss, and scores of tasks, along the way from one model
to the other."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.results.drawing.curves import reach
from core.results.drawing.style import BLUE, DASHES, GREY, ORANGE, columns_for
from core.studies.alignment.barrier.scoring import KEPT, TURNED
from core.studies.alignment.barrier.tables import ONE_ORIGIN, OTHER_ORIGINS
from core.studies.alignment.barrier.tasks import FOLDED, MATCHED, NORMS, RANDOM, RAW, ROTATED
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Panels,
    Plane,
    Result,
    line_chart,
    metric_of,
    span_of,
    text_of,
    tip_of,
)

STROKES = {RAW: (1, 0), MATCHED: (6, 3), NORMS: (2, 2), FOLDED: (1, 4), ROTATED: (8, 2, 2, 2)}
HEIGHT = 180  # pixels, with the legend below
ACROSS = 2
AXIS = {"format": ".0%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1]}
BELOW = "mean over pairs; bands: 95 % intervals over sentences"
CONTROLS = (RANDOM, TURNED, KEPT)
COLOURS = {OTHER_ORIGINS: ORANGE, ONE_ORIGIN: BLUE}


def figures(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw the excess of the loss and the scores of the tasks, means over pairs of one kind; none
    where no pair was joined."""
    context = replace(context, legend=True)  # all lines meet at both ends
    losses, scores = (result.tables.get(name) for name in ("paths", "score_paths"))
    charts = {} if losses is None or losses.empty else {"barrier": [_losses(losses, context)]}
    if scores is not None:
        parts = scores.groupby("metric", sort=False)
        charts["scores"] = [_scores(part, str(metric), context) for metric, part in parts]
    names = [name for name, drawn in charts.items() for _ in drawn]
    return Panels([chart for drawn in charts.values() for chart in drawn], ACROSS, names=names)


def _named(rows: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Look]]:
    """Name the lines, one for each relation and order, and say how each looks."""
    rows = rows.assign(name=rows["relation"] + ", " + rows["order"])
    kinds = rows.drop_duplicates("name").set_index("name")
    greys = list(kinds.index[kinds["order"].isin(CONTROLS)])  # each has a dash of its own
    dashes = {name: DASHES[number % len(DASHES)] for number, name in enumerate(greys)}
    return rows, {
        str(name): Look(
            GREY if name in dashes else COLOURS[row["relation"]],
            dash=dashes[name] if name in dashes else STROKES[row["order"]],
            shape="circle" if row["relation"] == OTHER_ORIGINS else "square",
        )
        for name, row in kinds.iterrows()
    }


def _losses(rows: pd.DataFrame, context: Context) -> Chart:
    rows, looks = _named(rows)
    ends = reach(rows, "excess_loss", zero=True)
    titles = ("Share of the second model", tip_of("excess_loss").title)
    plane = Plane(
        "share", "excess_loss", *titles, *ends, (0.0, 1.0), x_axis=AXIS, height=HEIGHT,
        context=context,
    )  # fmt: skip
    title, columns = "Loss between two models", columns_for(looks, context=context)
    return line_chart(rows, plane, looks, title, BELOW, line="Pairs", columns=columns)


def _scores(rows: pd.DataFrame, metric: str, context: Context) -> Chart:
    rows, looks = _named(rows)
    low, high = span_of(rows["low"], rows["high"], rows["score"], rows["chance"])
    name = metric_of(metric).title
    plane = Plane(
        "share", "score", "Share of the other model", name, low, high, (0.0, 1.0), kind="share",
        x_axis=AXIS, height=HEIGHT, context=context,
    )  # fmt: skip
    below = f"chance {text_of(float(rows['chance'].iloc[0]), 'share')}; {BELOW}"
    title, columns = f"{name} between two models", columns_for(looks, context=context)
    return line_chart(rows, plane, looks, title, below, line="Pairs", columns=columns)
