"""Charts of task arithmetic: who harms whom, and scores by factor."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from core.results.drawing.style import BLUE, GREY, ORANGE
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Panels,
    Place,
    Plane,
    Result,
    heatmap,
    legend_strip,
    line_chart,
    metric_of,
    short_names,
    span_of,
    text_of,
)
from core.studies.weights.arithmetic.spec import ALONE, TOGETHER

ACROSS = 2
HEIGHT = 80.0  # pixels of a plot: two rows and the legend of colours fit a screen
RANDOM = "others random"
LOOKS = {
    ALONE: Look(BLUE),
    TOGETHER: Look(ORANGE, "square", (6, 3)),
    RANDOM: Look(GREY, "diamond", (2, 3)),
}


def draw_view(result: Result, *, context: Context = PAGE) -> Panels:
    """Draw who harms whom, and a panel for each scored model; none where nothing was scored."""
    table, harms = result.tables["arithmetic"], result.tables["harms"]
    if table.empty:
        return Panels(())
    names = short_names(dict.fromkeys([*table["model"], *harms["added"]]))
    models = list(dict.fromkeys(table["model"]))
    places = [Place(number, len(models) + 1, ACROSS) for number in range(len(models) + 1)]
    charts = [
        _scores(table[table["model"] == model], names[model], place, context)
        for model, place in zip(models, places, strict=False)
    ]
    charts.append(_harms(harms, names, context))
    strip = legend_strip(LOOKS, context=context)
    return Panels(charts, ACROSS, strip, inline=True, names=[*["sums"] * len(models), "harms"])


def _harms(harms: pd.DataFrame, names: dict[str, str], context: Context) -> Chart:
    """Draw the change of each task's score by the change that is added."""
    rows = harms.assign(model=harms["model"].map(names), added=harms["added"].map(names))
    ends = (
        min(0.0, float(harms["score_change"].min())),
        max(0.0, float(harms["score_change"].max())),
    )
    order = [[name for name in names.values() if name in set(rows[side])]
             for side in ("added", "model")]  # fmt: skip
    return heatmap(
        rows, "Who harms whom", "change of the row's score by the column's",
        x="added", y="model", value="score_change", ends=ends, also=["metric", "score_excess"],
        height=HEIGHT, order=(order[0], order[1]), context=context,
    )  # fmt: skip


def _scores(table: pd.DataFrame, name: str, place: Place, context: Context) -> Chart:
    """Draw one model's score by the factor of its change, alone, with all, and with random ones."""
    together = table[table["way"] == TOGETHER]
    random = together.assign(
        name=RANDOM, score=together["random_score"], low=float("nan"), high=float("nan")
    )
    shown = table[table["way"].isin((ALONE, TOGETHER))]
    rows = pd.concat([shown.assign(name=shown["way"]), random], ignore_index=True)
    low, high = span_of(rows["low"], rows["high"], rows["score"], table["chance"])
    title = metric_of(str(table["metric"].iloc[0])).title
    plane = Plane(
        "scale", "score", "Factor of the changes" * place.lowest, title, low, high, (-1.0, 1.0),
        kind="share", height=HEIGHT, x_axis={"values": [-1, -0.5, 0, 0.5, 1], "format": "~g"},
        context=replace(context, unnamed=True),
    )  # fmt: skip
    below = f"chance {text_of(float(table['chance'].iloc[0]), 'share')}; bands: 95 %"
    return line_chart(rows, plane, LOOKS, name, below, line="Sum")
