"""One fine-tune's update: a cell for each family and layer, with its size or its rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.drawing.context import PAGE, Context
from core.results.drawing.description import cells_in_words
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.style import heading
from core.results.drawing.vega import Chart
from core.results.numbers import Kind, text_of

if TYPE_CHECKING:
    from core.results.export import Result

ROW, ROOM = 26, 60  # height of a row of cells, and of axes and legend
KINDS: dict[str, tuple[str, Kind]] = {
    "relative_norm": ("Size of the update by matrix", "share"),
    "rank": ("Rank of the update by matrix", "whole"),
}


def change_chart(result: Result, column: str, *, context: Context = PAGE) -> Chart:
    """Draw families by layers as a heatmap that fills its container.

    Args:
        result: Of the weights study, with one model.
        column: "relative_norm", or "rank" at the study's threshold.
    """
    what, kind = KINDS[column]
    ranks, threshold = result.tables["ranks"], float(result.spec["threshold"])
    table = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == threshold)]
    families = list(dict.fromkeys(table["family"]))
    energy = text_of(threshold, "setting")
    title, below = {
        "relative_norm": ("Relative size", "norm of the update over the norm of the base's matrix"),
        "rank": ("Rank", f"directions that hold {energy} of its energy; 0 for an unchanged matrix"),
    }[column]
    chart = heatmap(
        table, x="layer", y="family", value=column, titles=("Layer", None, title),
        ends=(0.0, float(table[column].max()) or 1.0), tips=["family", "layer"],
        also=["null_rank"] if column == "rank" else [], kind=kind, order=(None, families),
        height=ROW * len(families) + ROOM, context=context,
    )  # fmt: skip
    words = cells_in_words(
        table,
        what,
        row="family",
        column="layer",
        value=column,
        value_title=title.lower(),
        kind=kind,
    )
    moved = table.loc[table["relative_norm"] > 0, column]
    if len(moved):
        words += f" Median {text_of(float(moved.median()), kind)}."
    return chart.properties(title=heading(what, below), description=words)
