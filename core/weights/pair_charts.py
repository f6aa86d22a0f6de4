"""One fine-tune's change at a glance: a cell for each family and layer, with its size or its rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.charts import BLUE, heading

if TYPE_CHECKING:
    import altair as alt

    from core.results.export import Result

KINDS = {
    "relative_norm": ("How far each matrix moved, share of its norm", ".2f"),
    "rank": ("Rank of each matrix's change", "d"),
}


def change_chart(result: Result, column: str) -> alt.TopLevelMixin:
    """Families by layers, each cell with its number.

    Args:
        result: Of the weights study, with one model.
        column: "relative_norm", or "rank" at the study's threshold.
    """
    import altair as alt

    title, number = KINDS[column]
    ranks = result.tables["ranks"]
    table = ranks[(ranks["of"] == "delta") & (ranks["threshold"] == result.spec["threshold"])]
    lines = "a matrix that did not move has none" if column == "rank" else ""
    if column == "rank":
        lines = f"directions that hold {100 * result.spec['threshold']:.4g} % of its energy; {lines}"
    cells = alt.Chart(table).encode(
        x=alt.X("layer:O", title="Layer", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("family:N", title=None, sort=list(dict.fromkeys(table["family"]))),
    )
    middle = (float(table[column].max()) + float(table[column].min())) / 2
    scale = alt.Scale(range=["#eef3f7", BLUE], domainMin=0)
    boxes = cells.mark_rect().encode(color=alt.Color(f"{column}:Q", title=None, scale=scale, legend=None))
    ink = alt.condition(f"datum.{column} > {middle}", alt.value("white"), alt.value("#23201b"))
    words = cells.mark_text(fontSize=11).encode(text=alt.Text(f"{column}:Q", format=number), color=ink)
    chart: alt.LayerChart = (boxes + words).properties(width=560, height=alt.Step(28), title=heading(title, lines))
    return chart
