"""What the charts of a probe study share: looks of models and baselines, names, tooltips.

Every model has a colour of Okabe and Ito's and a point shape. No chart sets a background or a text
colour, so that it suits light and dark themes; each stretches to its container.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from core.probes.trees.tables import (
    CHAIN,
    PARSED,
    PERCENT,
    POSITION,
    RANDOM,
    SELECTIVITY,
    SHOWN,
    TAGS,
    WINDOW,
)
from core.results.drawing.axes import Plane, rule
from core.results.drawing.curves import Look
from core.results.drawing.style import GREY, colours_of, shapes_of
from core.results.names import short_names
from core.results.numbers import Kind, Tip

if TYPE_CHECKING:
    import pandas as pd

HEIGHT = 320
DASHES = {
    CHAIN: [6, 4],
    RANDOM: [2, 3],
    PARSED: [12, 4],
    POSITION: [8, 3, 2, 3],
    WINDOW: [1, 0],
    TAGS[1]: [2, 2, 8, 2],
}


def baseline_label(model: str) -> str:
    """The name of a baseline in a chart, from its cell of the table."""
    return SHOWN.get(model, model)


def baseline_look(dash: Sequence[int]) -> Look:
    """The look of a baseline's line."""
    return Look(GREY, "circle", dash, False, 1.5, band=False)


def baseline_rules(
    lines: pd.DataFrame,
    plane: Plane,
    label: Callable[[str], str] = baseline_label,
    dashes: Mapping[str, Sequence[int]] = DASHES,
) -> tuple[list[pd.DataFrame], dict[str, Look]]:
    """Rows and looks of baselines that have one score for all layers.

    Args:
        lines: model, value, low, high: a row for each baseline.
        plane: The chart's axes.
        label: Cell of `model` -> the baseline's name in the chart.
        dashes: The dash of each baseline, by its cell.
    """
    rows, looks = [], {}
    for line in lines.itertuples():
        name = label(str(line.model))
        rows.append(rule(plane, name, float(line.value)).assign(low=line.low, high=line.high))
        looks[name] = baseline_look(dashes[str(line.model)])
    return rows, looks


def looks_of(company: Sequence[str], models: Sequence[str]) -> dict[str, Look]:
    """The look of each model's line by its short name, the same in all charts of `company`."""
    refs = list(dict.fromkeys(ref for ref in (*company, *models) if ref not in DASHES))
    names, colours, shapes = short_names(refs), colours_of(refs), shapes_of(refs)
    return {
        names[ref]: Look(GREY, shapes[ref], (4, 3))
        if ref.startswith("random:")
        else Look(colours[ref], shapes[ref])
        for ref in dict.fromkeys(models)
    }


def kind_of(metric: str) -> Kind:
    """The kind of a metric's numbers: percentages, correlations, or differences of them."""
    bare = metric.removesuffix(SELECTIVITY)
    if metric != bare:
        return difference_kind(bare)
    return "points" if metric in PERCENT else "share"


def difference_kind(metric: str) -> Kind:
    """The kind of differences between a metric's numbers."""
    return "gain" if metric in PERCENT else "change"


def layer_tips(label: str, kind: Kind, value: str = "value") -> tuple[Tip, ...]:
    """Tooltips of a score by layer."""
    return (
        *(Tip("name", "Model"), Tip("layer", "Layer", "whole")),
        *(Tip(value, label, kind), Tip("low", "Band, 95 %", kind)),
    )
