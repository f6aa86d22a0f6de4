"""Cells of a table as colours: numbers in the cells where there are few, the same ends of the scale
every time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from core.results.columns import Tip, tip_of, with_tooltips
from core.results.drawing.context import PAGE, Context
from core.results.drawing.description import cells_in_words
from core.results.drawing.style import gradient, heading
from core.results.drawing.vega import Chart, channel, either, layered
from core.results.estimates import kind_in
from core.results.export import Result
from core.results.names import short_names
from core.results.numbers import Kind, labels_of, text_of

MOST_NUMBERED = 10  # rows and columns up to which a cell has room for its number
EQUAL = 1e-6  # by which what is equal may differ from 1
TURN = 0.6  # share of the scale from which letters on it are dark: viridis ends in yellow


def heatmap(
    table: pd.DataFrame,
    title: str,
    below: str = "",
    *,
    x: str,
    y: str,
    value: str,
    x_title: str | None = None,
    y_title: str | None = None,
    value_title: str = "",
    ends: tuple[float, float] = (0.0, 1.0),
    tips: Sequence[Tip | str] = (),
    also: Sequence[Tip | str] = (),
    said: str = "",
    reverse: bool = False,
    order: tuple[Any, Any] = (None, "descending"),
    angle: int = 0,
    height: float = 320,
    limit: int = 130,
    context: Context,
) -> Chart:
    """Draw a heatmap, one row of the table a cell, that stretches to its container, with title and
    description in words. Beyond `ends`, a cell has the end's colour; `reverse` makes low values
    bright; `limit` is in pixels of a name."""
    kind = kind_in(table, value)
    value_title = value_title or tip_of(value).title
    tips = tips or [_axis_tip(y, y_title), _axis_tip(x, x_title)]
    rows, tooltip = with_tooltips(table, (*tips, Tip(value, value_title, kind), *also))
    share = ((table[value] - ends[0]) / ((ends[1] - ends[0]) or 1.0)).clip(0, 1)
    light = (1 - share if reverse else share) > TURN
    rows = rows.assign(written=[_written(float(cell), kind) for cell in table[value]], light=light)
    axis: dict[str, Any] = {"ticks": False, "domain": False, "labelLimit": limit}
    # Streamlit's setting moves the first column's name to the right, into the next.
    every = {"labelOverlap": table[x].nunique() > MOST_NUMBERED, "labelFlush": False}
    across = {"labelAngle": angle, **every, **axis}
    base = Chart(rows).encode(
        x=channel(f"{x}:O", title=x_title, sort=order[0], axis=across),
        y=channel(f"{y}:O", title=y_title, sort=order[1], axis=axis),
    )
    scale = {"scheme": "viridis", "domain": list(ends), "clamp": True, "reverse": reverse}
    beside = gradient(value_title, **labels_of(kind), context=context)
    colour = channel(f"{value}:Q", title=value_title, scale=scale, legend=beside)
    layers: list[Any] = [base.mark_rect().encode(color=colour, tooltip=tooltip)]
    if max(table[x].nunique(), table[y].nunique()) <= MOST_NUMBERED:
        letters = base.mark_text(baseline="middle", fontSize=context.letter - 1)
        ink = either("datum.light", "black", "white")
        layers.append(letters.encode(text="written:N", color=ink))
    of = f"{value_title} ({y_title}, {x_title})" if x_title and y_title else value_title
    text = cells_in_words(
        table, said or title, row=y, column=x, value=value, value_title=of, kind=kind
    )
    about = {"title": heading(title, below), "description": text}
    return layered(*layers).properties(width="container", height=context.height(height), **about)


def models_heatmap(
    result: Result,
    *,
    table: str,
    value: str,
    title: str,
    axes: tuple[str, str],
    also: str,
    context: Context = PAGE,
) -> dict[str, Chart]:
    """Draw a table of models (`model`) beside models (`other`), by the study's name; nothing of an
    empty table. `axes` are what tooltips call rows and columns, `also` a column of the main
    table."""
    cells, of_model = result.tables[table], result.table.set_index("model")[also]
    if cells.empty:
        return {}
    names = short_names(dict.fromkeys(cells["model"]))
    rows, columns = cells["model"].map(names), cells["other"].map(names)
    drawn = cells.assign(row=rows, column=columns, **{also: cells["model"].map(of_model)})
    chart = heatmap(
        drawn, title, x="column", y="row", value=value,
        tips=[Tip("row", axes[0]), Tip("column", axes[1])],
        value_title=tip_of(f"{table}.{value}").title, order=([*names.values()],) * 2, angle=-30,
        also=[also], context=context,
    )  # fmt: skip
    return {result.study: chart}


def _written(value: float, kind: Kind) -> str:
    """Write a cell; one that is only almost 1, and would be written as 1, as "<1"."""
    text = text_of(value, kind)
    return "<1" if text == text_of(1.0, kind) and value < 1.0 - EQUAL else text


def _axis_tip(column: str, title: str | None) -> Tip:
    tip = tip_of(column)
    return Tip(column, title or tip.title, tip.kind)
