"""What the room's charts share: one colour and one shape for each label, names, titles, legends.

No chart sets a background or a text colour, so a light and a dark theme both fit; one without panels stretches to its
container.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from core.results.names import short_names
from core.weights.vectors import VECTORS

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A7A3C", "#5B5446")  # after Okabe & Ito
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
GREY = "#8C8C8C"
NO_LABEL = "no label"


def model_names(result: Result) -> ndarray:
    """Short names of the result's models, in the table's order."""
    models = list(result.table["model"])
    short = short_names(models)
    return np.array([short[ref] for ref in models], dtype=object)


def vector_name(result: Result) -> str:
    """The vector chosen, with its rank where it has one, as a title says it."""
    name = result.spec["vector"]
    rank = f", rank {result.spec['rank']}" if VECTORS[name].ranked else ""
    return f"{VECTORS[name].title.lower()}{rank}"


def group_names(column: pd.Series, by: str) -> ndarray:
    """The values of a column as a legend names them."""
    if by == "cluster":
        return np.array([f"cluster {value + 1}" if value >= 0 else "outlier" for value in column], dtype=object)
    return np.array([str(value) or NO_LABEL for value in column], dtype=object)


def ordered(groups: Sequence[str]) -> list[str]:
    """Groups by name, models without a label last."""
    known = sorted({str(group) for group in groups} - {NO_LABEL})
    return known + [NO_LABEL] * (NO_LABEL in set(groups))


def palette(groups: Sequence[str], values: Sequence[str] = COLOURS) -> Any:
    """A scale that gives each group one of `values`, the same wherever it is drawn; grey where there is no label."""
    import altair as alt

    given = [values[place % len(values)] for place in range(len(groups))]
    if values is COLOURS and NO_LABEL in groups:
        given[list(groups).index(NO_LABEL)] = GREY
    return alt.Scale(domain=list(groups), range=given)


def legend(groups: Sequence[str]) -> Any:
    """A legend below the chart, in as many columns as the names leave room for."""
    import altair as alt

    longest = max((len(str(group)) for group in groups), default=1)
    return alt.Legend(orient="bottom", columns=4 if longest < 14 else 2, labelLimit=200, symbolOpacity=1)


def title(text: str, subtitle: str = "") -> Any:
    """A title at the left edge."""
    import altair as alt

    return alt.Title(text, subtitle=subtitle, anchor="start")
