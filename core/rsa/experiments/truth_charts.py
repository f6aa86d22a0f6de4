"""The areas under the curve as a table of colours: a row per measure, a column per kind of truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from core.results.charts import gradient, heading
from core.rsa.experiments.truth_headline import RIVALS, finder_label

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.results.export import Result

ROW = 26  # pixels
COLUMNS = {
    "frozen": "columns: bits that the fine-tune is rounded to",
    "planted": "columns: its state, the drop from the layer below, its answer to the base's state",
}
TITLES = {"frozen": "Frozen fine-tunes: which states changed", "planted": "Planted layers: whose own weights changed"}


def truth_chart(result: Result, truth: str, matched: bool = False) -> alt.LayerChart:
    """Areas of all measures and rivals.

    Args:
        result: Of the truth study.
        truth: "frozen" or "planted".
        matched: Whether weight changes were matched in size.
    """
    import altair as alt

    table = result.table
    rows = table[(table["truth"] == truth) & (table["matched"] == matched)]
    rows = rows.assign(name=rows["finder"].map(finder_label), what=[column_name(row) for _, row in rows.iterrows()])
    rivals = [finder_label(name) for name in RIVALS]
    order = [*dict.fromkeys(name for name in rows["name"] if name not in rivals), *rivals]
    base = alt.Chart(rows).encode(
        x=alt.X(
            "what:N", title=None, sort=list(dict.fromkeys(rows["what"])),
            axis=alt.Axis(orient="top", labelAngle=0, labelOverlap=False),
        ),
        y=alt.Y("name:N", title=None, sort=order, axis=alt.Axis(labelLimit=220)),
    )  # fmt: skip
    tooltip = [
        alt.Tooltip("name:N", title="Found by"),
        alt.Tooltip("what:N", title="Read"),
        *(alt.Tooltip(f"{field}:Q", title=title, format=".3f") for field, title in
          (("auc", "Area"), ("low", "Band from"), ("high", "Band to"), ("same_depth", "At equal depth"))),
        alt.Tooltip("changed:Q", title="Layers changed"),
        alt.Tooltip("unchanged:Q", title="Layers unchanged"),
    ]  # fmt: skip
    scale = alt.Scale(scheme="viridis", domain=[0.5, 1.0], clamp=True)
    cells = base.mark_rect().encode(
        color=alt.Color("auc:Q", title="Area", scale=scale, legend=gradient()), tooltip=tooltip
    )
    dark = alt.condition("datum.auc > 0.8", alt.value("black"), alt.value("white"))
    numbers = base.mark_text(fontSize=12).encode(text=alt.Text("auc:Q", format=".2f"), color=dark)
    size = ", weight changes matched in size" if matched else ""
    title = heading(TITLES[truth], [f"area under the curve{size}", COLUMNS[truth]])
    chart = alt.layer(cells, numbers).properties(width="container", height=ROW * len(order), title=title)
    return cast("alt.LayerChart", chart)


def figures(result: Result) -> dict[str, alt.TopLevelMixin]:
    """Every chart that the result has the numbers for, by file name; the main one first."""
    return {
        f"truth-{truth}{'-matched' if matched else ''}": truth_chart(result, truth, matched)
        for truth, matched in dict.fromkeys(zip(result.table["truth"], result.table["matched"], strict=True))
    }


def column_name(row: pd.Series[float]) -> str:
    """How a row was read, as charts and tables name it."""
    if row["truth"] == "planted":
        return str(row["reading"])
    return f"{int(row['bits'])} bits" if row["bits"] else "as it is"
