"""A finding of an example: a sentence and a small figure, made from the numbers of results.

Where the numbers suggest a cause, the same sentence gives the rival explanation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core.results.drawing.style import colours_of
from core.results.names import short_name

INK = "#5B5446"


@dataclass(frozen=True)
class Series:
    """A line or a bar of a small figure: name, colour, and points as pairs of x and y."""

    name: str
    colour: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Finding:
    """The finding of an example.

    Attributes:
        sentence: The finding, made from the numbers.
        kind: "lines", "bars" or "arcs"; "chart" for a figure of the study.
        series: Lines or bars of the figure, in order.
        axis: Name of the values.
        figure: Of the kind "chart", its Vega-Lite specification.
    """

    sentence: str
    kind: str
    series: tuple[Series, ...]
    axis: str
    figure: Mapping[str, Any] | None = None


def lines(table: pd.DataFrame, name: str, value: str) -> tuple[Series, ...]:
    """Make a line of each model, over layers."""
    colours = colours_of(dict.fromkeys(table[name]))
    return tuple(
        Series(short_name(str(ref)), colours[str(ref)], points(rows, value))
        for ref, rows in table.groupby(name, sort=False)
    )


def points(rows: pd.DataFrame, value: str) -> tuple[tuple[float, float], ...]:
    """Read the points of a line: layer and value."""
    return tuple(
        (float(x), round(float(y), 4)) for x, y in zip(rows["layer"], rows[value], strict=True)
    )
