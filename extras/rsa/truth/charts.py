"""The AUCs as a heatmap: a row per measure, a column per rounding or per thing compared."""

from __future__ import annotations

import pandas as pd

from core.studies.chart_kit import PAGE, Chart, Context, Result, Tip, heatmap
from extras.rsa.truth.text import READINGS, RIVALS, ROUNDINGS, finder_label

ROW = 26  # pixels
COLUMNS = {
    "frozen": "rounding, over the size of the weight change",
    "planted": "state, drop from the layer below, output on the base's input",
}
TITLES = {
    "frozen": "Frozen fine-tunes: finding changed states",
    "planted": "Layers inserted into the base (planted): finding them",
}


def truth_chart(
    result: Result, truth: str, matched: bool = False, *, context: Context = PAGE
) -> Chart:
    """Draw the AUCs of all measures and baselines for one truth, "frozen" or "planted"."""
    table = result.table
    rows = table[(table["truth"] == truth) & (table["matched"] == matched)]
    rows = rows.assign(
        name=rows["finder"].map(finder_label), what=[column_name(row) for _, row in rows.iterrows()]
    )
    rivals = [finder_label(name) for name in RIVALS]
    order = [*dict.fromkeys(name for name in rows["name"] if name not in rivals), *rivals]
    size = ", changes matched in size" if matched else ""
    return heatmap(
        rows,
        TITLES[truth],
        f"AUC{size}; {COLUMNS[truth]}",
        x="what",
        y="name",
        value="auc",
        ends=(0.5, 1.0),
        tips=[Tip("name", "Measure"), Tip("what", "Column")],
        also=["low", "same_depth", "truth.changed", "truth.unchanged"],
        said=f"{TITLES[truth]}{size}",
        order=(list(dict.fromkeys(rows["what"])), order),
        height=ROW * len(order),
        limit=200,
        context=context,
    )


def figures(result: Result, context: Context = PAGE) -> dict[str, Chart]:
    """Draw every chart that the result has the numbers for, by file name; planted models first,
    which the headline is about."""
    drawn = dict.fromkeys(zip(result.table["truth"], result.table["matched"], strict=True))
    return {
        f"truth-{truth}{'-matched' if matched else ''}": truth_chart(
            result, truth, matched, context=context
        )
        for truth, matched in sorted(drawn, key=lambda each: (each[1], each[0] != "planted"))
    }


def column_name(row: pd.Series[float]) -> str:
    """Name the column of a row, as charts and tables do."""
    if row["truth"] == "planted":
        return READINGS[str(row["reading"])]
    return ROUNDINGS[float(row["rounding"])]
