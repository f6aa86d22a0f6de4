"""Text descriptions of charts, for screen readers: the kind of chart, its axes, its values, the
highest and lowest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from core.errors import counted
from core.results.numbers import Kind, text_of

SIDES = (
    ("left", "x", np.argmin),
    ("right", "x", np.argmax),
    ("top", "y", np.argmax),
    ("bottom", "y", np.argmin),
)
MOST_NAMED = 12  # lines or points that are named one by one


def lines_in_words(
    table: pd.DataFrame,
    what: str,
    *,
    x: str,
    y: str,
    x_title: str,
    y_title: str,
    kind: Kind = "share",
    names: Sequence[str] = (),
) -> str:
    """Describe a line chart: where each line begins and ends, and which value is highest and
    lowest; of the lines in `names`, or all."""
    rows = table[table[y].notna()]
    names = [
        name for name in (names or dict.fromkeys(rows["name"])) if (rows["name"] == name).any()
    ]
    rows = rows[rows["name"].isin(names)].reset_index(drop=True)
    if rows.empty:
        return f"{what}: nothing could be drawn."
    ends = f"from {_plain(rows[x].min())} to {_plain(rows[x].max())}"
    count = counted(len(names), "line")
    text = [f"{what}. Line chart of {y_title} by {_small(x_title)} {ends}, {count}."]
    for name in names[:MOST_NAMED]:
        line = rows[rows["name"] == name].sort_values(x)
        first, last = line.iloc[0], line.iloc[-1]
        if len(line) == 1 or first[y] == last[y] == line[y].min() == line[y].max():
            text.append(f"{name}: {text_of(float(first[y]), kind)}.")
        else:
            text.append(
                f"{name}: {text_of(float(first[y]), kind)} at {_plain(first[x])}, "
                f"{text_of(float(last[y]), kind)} at {_plain(last[x])}."
            )
    flat = rows.groupby("name")[y].nunique() == 1

    def where(row: pd.Series) -> str:
        return str(row["name"]) if flat[row["name"]] else f"{row['name']} at {_plain(row[x])}"

    text.append(_extremes(rows, y, kind, where))
    return " ".join(text)


def cells_in_words(
    table: pd.DataFrame,
    what: str,
    *,
    row: str,
    column: str,
    value: str,
    value_title: str,
    kind: Kind = "share",
) -> str:
    """Describe a heatmap: its size, the highest and the lowest cell."""
    rows = table[table[value].notna()].reset_index(drop=True)
    if rows.empty:
        return f"{what}: nothing could be drawn."
    size = f"{table[row].nunique()} rows, {table[column].nunique()} columns"
    return f"{what}. Heatmap of {_small(value_title)}, {size}. " + _extremes(
        rows, value, kind, lambda cell: f"{_plain(cell[row])} and {_plain(cell[column])}"
    )


def points_in_words(
    table: pd.DataFrame, what: str, *, name: str, group: str = "", point: str = "point"
) -> str:
    """Describe a scatter plot: how many points, in which groups, the outermost ones, and all names
    where they are few."""
    if table.empty:
        return f"{what}: nothing could be drawn."
    text = [f"{what}. Scatter plot of {counted(len(table), point)}."]
    ends = [
        f"{side} {table[name].iloc[place(table[axis].to_numpy())]}" for side, axis, place in SIDES
    ]
    text.append(f"Outermost: {', '.join(ends)}.")
    if group:
        counts = table.groupby(group, sort=False).size()
        text.append(
            "Groups: " + ", ".join(f"{label} ({count})" for label, count in counts.items()) + "."
        )
    if len(table) <= 2 * MOST_NAMED:
        text.append("Points: " + ", ".join(str(label) for label in table[name]) + ".")
    return " ".join(text)


def bars_in_words(
    table: pd.DataFrame, what: str, *, name: str, value: str, kind: Kind = "share"
) -> str:
    """Describe a chart with one value per name, in its order."""
    rows = table[table[value].notna()]
    listed = ", ".join(
        f"{row[name]} {text_of(float(row[value]), kind)}" for _, row in rows.iterrows()
    )
    return f"{what}. {listed}." if listed else f"{what}: nothing could be drawn."


def _extremes(rows: pd.DataFrame, y: str, kind: Kind, where: Callable[[pd.Series], str]) -> str:
    low, high = rows.loc[rows[y].idxmin()], rows.loc[rows[y].idxmax()]
    return (
        f"Highest {text_of(float(high[y]), kind)} ({where(high)}), "
        f"lowest {text_of(float(low[y]), kind)} ({where(low)})."
    )


def _plain(value: object) -> str:
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    return f"{number:g}"


def _small(title: str) -> str:
    return title[:1].lower() + title[1:]
