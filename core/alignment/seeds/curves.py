"""Line charts of the alignment studies: errors by layer, one line per method."""

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
ERROR_TITLE = "Held-out error (1 = target's mean)"
CEILING = 1.2  # largest end of the error axis; higher errors are marked at its edge
MEAN = "target's mean"  # the reference line at 1


def error_chart(
    table: pd.DataFrame,
    what: str,
    below: str,
    *,
    value: str = "nmse",
    x_title: str = LAYER_TITLE,
    context: Context,
) -> Chart:
    """Draw errors by layer, one line per method, controls dashed, and a line at the error of the
    target's mean.

    Args:
        table: method, layer, the value, and `low` and `high` where there are intervals.
        what: Title.
        below: Subtitle.
        value: Column of the error.
        x_title: Title of the layer axis.
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
    """Draw one line per method, with title and description."""
    tips = (
        *(Tip("name", "Map"), Tip(plane.x, plane.x_title.split(" (")[0], "whole")),
        Tip(plane.y, plane.y_title.split(" (")[0], plane.kind),
        Tip("low", "95 % interval", plane.kind),
    )
    chart = curves(table, plane, looks, tips, opacity=0.13)
    return finished(chart, table, plane, what, below, list(looks))


def with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """Add the methods' labels in charts."""
    return table.assign(label=table["method"].map(lambda name: METHODS[name].label))


def named_methods(table: pd.DataFrame) -> pd.DataFrame:
    """Add the names of the methods' lines."""
    return table.assign(name=table["method"].map(lambda name: METHODS[name].label))


def method_looks(methods: Iterable[str]) -> dict[str, Look]:
    """Style the line of each method, in the registry's order; the same in every chart."""
    there, looks = set(methods), {}
    controls = [name for name in METHODS if METHODS[name].kind == "control"]
    for number, (name, method) in enumerate(METHODS.items()):
        if name in there:
            dash = DASHES[controls.index(name) % len(DASHES)] if name in controls else (1, 0)
            colour = GREY if name in controls else method.colour
            looks[method.label] = Look(
                colour, SHAPES[number % len(SHAPES)], dash, name not in controls
            )
    return looks


def ceiling_of(errors: pd.Series) -> float:
    """The end of the error axis: 1.2, or less where all errors are lower."""
    return float(min(CEILING, max(0.2, errors.max() * 1.05)))
