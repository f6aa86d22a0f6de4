"""Cells of a table as colours: numbers in the cells where there are few, the same ends of the scale
every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from core.results.columns import Tip, tip_of, told
from core.results.drawing.context import Context
from core.results.drawing.style import gradient
from core.results.drawing.vega import Chart, channel, either, layered
from core.results.numbers import Kind, label_expr, text_of

if TYPE_CHECKING:
    import pandas as pd

MOST_NUMBERED = 10  # rows and columns up to which a cell has room for its number
TURN = 0.6  # share of the scale from which letters on it are dark: viridis ends in yellow


def heatmap(
    table: pd.DataFrame,
    *,
    x: str,
    y: str,
    value: str,
    titles: tuple[str | None, str | None, str],
    ends: tuple[float, float],
    tips: Sequence[Tip | str] = (),
    also: Sequence[Tip | str] = (),
    kind: Kind = "share",
    reverse: bool = False,
    order: tuple[Any, Any] = (None, "descending"),
    angle: int = 0,
    height: float = 320,
    limit: int = 130,
    context: Context,
) -> Chart:
    """Draw a heatmap that stretches to its container.

    Args:
        table: One row a cell.
        x, y, value: Columns.
        titles: Of the x axis, the y axis and the colours.
        ends: Of the colours; what lies beyond has the end's colour, and its number says what it is.
        tips: What a tooltip says before the value; of row and column without it.
        also: What it says after the value.
        kind: How values are written.
        reverse: Whether low values are bright.
        order: How columns and rows are sorted, as Vega-Lite takes it.
        angle: Of the names of columns.
        height: On a page.
        limit: Most pixels of a row's or a column's name.
        context: What it is drawn for.
    """
    low, high = ends
    share = ((table[value] - low) / ((high - low) or 1.0)).clip(0, 1)
    tips = tips or [
        Tip(column, title, tip_of(column).kind) if title else column
        for column, title in ((y, titles[1]), (x, titles[0]))
    ]
    rows, tooltip = told(table, (*tips, Tip(value, titles[2], kind), *also))
    light = (1 - share if reverse else share) > TURN
    rows = rows.assign(written=[text_of(float(cell), kind) for cell in table[value]], light=light)
    axis: dict[str, Any] = {"ticks": False, "domain": False, "labelLimit": limit}
    # Streamlit's setting moves the first column's name to the right, into the next.
    every = {"labelOverlap": table[x].nunique() > MOST_NUMBERED, "labelFlush": False}
    base = Chart(rows).encode(
        x=channel(
            f"{x}:O", title=titles[0], sort=order[0], axis={"labelAngle": angle, **every, **axis}
        ),
        y=channel(f"{y}:O", title=titles[1], sort=order[1], axis={**axis}),
    )
    written = label_expr(kind)
    colour = channel(
        f"{value}:Q",
        title=titles[2],
        scale={"scheme": "viridis", "domain": [low, high], "clamp": True, "reverse": reverse},
        legend=gradient(titles[2], **({"labelExpr": written} if written else {}), context=context),
    )
    layers: list[Any] = [base.mark_rect().encode(color=colour, tooltip=tooltip)]
    if max(table[x].nunique(), table[y].nunique()) <= MOST_NUMBERED:
        letters = base.mark_text(baseline="middle", fontSize=context.letter - 1)
        ink = either("datum.light", "black", "white")
        layers.append(letters.encode(text="written:N", color=ink))
    chart = layered(*layers).properties(width="container", height=context.height(height))
    return chart
