"""What the charts of weights share: a colour and a shape for each label, names, titles, legends.

No chart sets a background or a text colour, so both a light and a dark theme fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from core.results.drawing.style import COLOURS, GREY, SHAPES, TASK_COLOURS, columns_for
from core.results.drawing.style import legend as shared_legend
from core.studies.chart_kit import Context, Result, channel, short_names
from core.studies.weights.activations import every_vector
from core.studies.weights.unlabelled import WORDS

NO_LABEL = "no label"


def model_names(result: Result) -> ndarray:
    """Short names of the result's models, in the table's order."""
    models = list(result.table["model"])
    short = short_names(models)
    return np.array([short[ref] for ref in models], dtype=object)


def vector_name(result: Result) -> str:
    """The chosen vector, with its rank if it has one, for a title."""
    name = result.spec["vector"]
    rank = f", rank {result.spec['rank']}" if every_vector()[name].ranked else ""
    return f"{every_vector()[name].title.lower()}{rank}"


def label_word(result: Result) -> str:
    """What a label is in a sentence, such as "task"."""
    return WORDS["table" if result.spec.get("labels") else str(result.spec["label"])]


def group_names(column: pd.Series, by: str) -> ndarray:
    """The values of a column for a legend."""
    if by == "cluster":
        return np.array(
            [f"cluster {value + 1}" if value >= 0 else "outlier" for value in column], dtype=object
        )
    return np.array([str(value) or NO_LABEL for value in column], dtype=object)


def ordered(groups: Sequence[str]) -> list[str]:
    """Groups by name, models without a label last."""
    labels = sorted({str(group) for group in groups} - {NO_LABEL})
    return labels + [NO_LABEL] * (NO_LABEL in set(groups))


def palette(groups: Sequence[str], values: Sequence[str] = COLOURS) -> Any:
    """A scale that gives each group the same one of `values` in every chart.

    A task has its colour on every page; models without a label are grey.
    """
    given = [values[place % len(values)] for place in range(len(groups))]
    if values is COLOURS:
        fixed = {**TASK_COLOURS, NO_LABEL: GREY}
        free = [
            colour for colour in COLOURS if colour not in {fixed.get(group) for group in groups}
        ] or list(COLOURS)
        others = [group for group in groups if group not in fixed]
        given = [fixed[g] if g in fixed else free[others.index(g) % len(free)] for g in groups]
    return {"domain": list(groups), "range": given}


def legend(groups: Sequence[str], *, context: Context) -> Any:
    """A legend below the chart, in as many columns as fit."""
    return shared_legend(columns_for(groups, context=context), width=200)


def group_channels(groups: Sequence[str], *, context: Context) -> dict[str, Any]:
    """Colour and shape of a point by its group, in one legend."""
    shared: dict[str, Any] = {"title": None, "legend": legend(groups, context=context)}
    return {
        "color": channel("group:N", scale=palette(groups), **shared),
        "shape": channel("group:N", scale=palette(groups, SHAPES), **shared),
    }
