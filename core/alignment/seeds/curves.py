"""Lines of the alignment room: errors by layer, one line per method, the same in the study and its experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from core.alignment.maps.registry import METHODS
from core.results.drawing.axes import Plane, layer_plane, rule
from core.results.drawing.context import Context
from core.results.drawing.curves import Look, curves, finished
from core.results.drawing.style import DASHES, GREY, LAYER_TITLE, SHAPES
from core.results.drawing.vega import Chart
from core.results.numbers import Tip

if TYPE_CHECKING:
    import pandas as pd

HEIGHT = 320
ERROR_TITLE = "Held-out error (share of variance)"
CEILING = 1.2  # end of the error axis: what is above leaves it
MEAN = "target's mean"  # the reference line at 1


def error_chart(
    table: pd.DataFrame, what: str, below: str, *, value: str = "nmse", x_title: str = LAYER_TITLE,
    context: Context
) -> Chart:
    """Errors by layer, one curve per method, controls dashed, and a line at the error of the target's mean.

    Args:
        table: method, layer, the value, and `low` and `high` where there are bands.
        what: Title.
        below: What stands below it.
        value: Column of the error.
        x_title: Of the layers' axis.
    """
    import pandas as pd

    rows = named_methods(table)
    top = ceiling_of(rows[value])
    plane = layer_plane(
        rows, value, ERROR_TITLE, (0.0, top), x_title=x_title, height=HEIGHT, context=context
    )
    looks = method_looks(rows["method"])
    drawn = rows
    if top > 1:
        drawn = pd.concat([rows, rule(plane, MEAN, 1.0)], ignore_index=True)
        looks[MEAN] = Look(GREY, dash=(4, 4), point=False, width=1.2)
    return curves_of_methods(drawn, plane, looks, what, below)


def curves_of_methods(
    table: pd.DataFrame, plane: Plane, looks: dict[str, Look], what: str, below: str
) -> Chart:
    """Lines by method with their title and words."""
    tips = (
        *(Tip("name", "Method"), Tip(plane.x, plane.x_title.split(" (")[0], "whole")),
        Tip(plane.y, plane.y_title.split(" (")[0], plane.kind),
        Tip("low", "Band, 95 %", plane.kind),
    )
    chart = curves(table, plane, looks, tips, opacity=0.13)
    return finished(chart, table, plane, what, below, list(looks))


def with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """The table with what charts call its methods."""
    return table.assign(label=table["method"].map(lambda name: METHODS[name].label))


def named_methods(table: pd.DataFrame) -> pd.DataFrame:
    """The table with what lines of its methods are called."""
    return table.assign(name=table["method"].map(lambda name: METHODS[name].label))


def method_looks(methods: Iterable[str]) -> dict[str, Look]:
    """How the line of each method looks, in the registry's order; the same on every chart."""
    there, looks = set(methods), {}
    controls = [name for name in METHODS if METHODS[name].kind == "control"]
    for number, (name, method) in enumerate(METHODS.items()):
        if name in there:
            dash = DASHES[controls.index(name) % len(DASHES)] if name in controls else (1, 0)
            colour = GREY if name in controls else method.colour
            looks[method.label] = Look(colour, SHAPES[number % len(SHAPES)], dash, name not in controls)
    return looks


def ceiling_of(errors: pd.Series) -> float:
    """The end of the error axis: 1.2 unless everything is below."""
    return float(min(CEILING, max(0.2, errors.max() * 1.05)))
