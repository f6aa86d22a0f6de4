"""The chart of the audit: cosines of the sampled weights, checkpoint by checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.columns import Tip
from core.results.drawing.context import PAGE, Context
from core.results.drawing.description import cells_in_words
from core.results.drawing.heatmaps import heatmap
from core.results.drawing.style import heading
from core.results.drawing.vega import Chart
from core.results.names import short_names

if TYPE_CHECKING:
    from core.results.export import Result

TITLE = "Cosine of the weights"


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
    tips = (Tip("row", "Checkpoint"), Tip("column", "Other"))
    chart = heatmap(
        rows, x="column", y="row", value="cosine", titles=(None, None, TITLE), ends=(0.0, 1.0),
        tips=tips, also=["verdict"], order=(order, order), angle=-30, context=context,
    )  # fmt: skip
    what = "Weights of each checkpoint beside every other"
    words = cells_in_words(
        rows, what, row="row", column="column", value="cosine", value_title=TITLE
    )
    return {"audit": chart.properties(title=heading(what), description=words)}
