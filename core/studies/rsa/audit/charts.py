"""The chart of the audit: cosines of the sampled weights, checkpoint by checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.columns import Tip, tip_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.vega import Chart
from core.results.names import short_names

if TYPE_CHECKING:
    from core.results.export import Result


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw the cosines, if a checkpoint could be read."""
    table = result.tables["cosines"]
    if table.empty:
        return {}
    refs = list(dict.fromkeys(table["model"]))
    names = short_names(refs)
    verdicts = dict(zip(result.table["model"], result.table["verdict"], strict=True))
    rows = table.assign(
        row=table["model"].map(names),
        column=table["other"].map(names),
        verdict=table["model"].map(verdicts),
    )
    order = [names[ref] for ref in refs]
    chart = heatmap(
        rows, "Weights of each checkpoint beside every other", x="column", y="row", value="cosine",
        value_title=tip_of("cosines.cosine").title, order=(order, order), angle=-30,
        tips=[Tip("row", "Checkpoint"), Tip("column", "Other")], also=["verdict"], context=context,
    )  # fmt: skip
    return {"audit": chart}
