"""One fine-tune's update: a cell for each family and layer, with its size or its rank."""

from __future__ import annotations

from core.results.drawing.context import PAGE, Context
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.vega import Chart
from core.results.estimates import kind_of
from core.results.export import Result
from core.results.numbers import text_of

ROW, ROOM = 26, 60  # height of a row of cells, and of axes and legend
TITLES = {
    "relative_norm": "Size of the update by matrix",
    "rank": "Rank of the update by matrix",
}


def change_chart(result: Result, column: str, *, context: Context = PAGE) -> Chart:
    """Draw families by layers as a heatmap that fills its container.

    Args:
        result: Of the weights study, with one model.
        column: "relative_norm", or "rank" at the study's threshold.
    """
    ranks, threshold = result.tables["ranks"], float(result.spec["threshold"])
    table = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == threshold)]
    families = list(dict.fromkeys(table["family"]))
    energy = text_of(threshold, "setting")
    below = {
        "relative_norm": "norm of the update over the norm of the base's matrix",
        "rank": f"directions that hold {energy} of its energy; 0 for an unchanged matrix",
    }[column]
    moved = table.loc[table["relative_norm"] > 0, column]
    median = text_of(float(moved.median()), kind_of(column, {}))
    return heatmap(
        table, TITLES[column], below, x="layer", y="family", value=column, x_title="Layer",
        ends=(0.0, float(table[column].max()) or 1.0), tips=["family", "layer"],
        also=["null_rank"] if column == "rank" else [], order=(None, families),
        said=f"{TITLES[column]}, median {median}" if len(moved) else TITLES[column],
        height=ROW * len(families) + ROOM, context=context,
    )  # fmt: skip
