"""Several plots in one figure: in rows, at widths that add up, under one legend where they share
one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pandas as pd

from core.results.drawing.context import Context
from core.results.drawing.curves import Look
from core.results.drawing.vega import Chart, channel, layered
from core.results.numbers import text_of

FULL = 640  # pixels across a figure that is not made to a measure
GAP, STROKE = 5, 2  # letters beside a name in a legend of its own, those of its stroke
MARGIN = 78  # of a panel: axis, its title, the gap to the next
# height of a plot in one row of panels, and in several: two fit a screen of 720
ALONE, STACKED = 230.0, 102.0


@dataclass(frozen=True)
class Panels:
    """Charts that belong together: beside each other on a page, one figure in a file.

    Attributes:
        charts: Each stretches to its container.
        across: How many beside each other.
        strip: A legend for all of them, above.
        inline: Whether a panel's subtitle stands behind its title on a page, not below it.
        names: File name of each, in the same order; those of one name are one figure. Without
            names they are in no file.
    """

    charts: Sequence[Chart]
    across: int = 2
    strip: Chart | None = None
    inline: bool = False
    names: Sequence[str] = ()

    def figure(self, context: Context) -> Chart:
        """All of them as one chart."""
        return beside(self.charts, self.across, self.strip, context=context)

    def by_name(self, context: Context) -> dict[str, Chart]:
        """A figure for each file name, the first one under the legend."""
        charts: dict[str, list[Chart]] = {}
        for name, chart in zip(self.names, self.charts, strict=bool(self.names)):
            charts.setdefault(name, []).append(chart)
        strips = (self.strip, *[None] * len(charts))
        return {
            name: beside(panels, self.across, strip, context=context)
            for (name, panels), strip in zip(charts.items(), strips, strict=False)
        }


Figures = Mapping[str, Chart] | Panels  # what a view draws, by file name
Drawn = Chart | Sequence[Chart] | Panels  # what a page shows


@dataclass(frozen=True)
class Place:
    """Where a panel stands among others.

    Attributes:
        number, count: Which one of how many.
        across: How many beside each other.
    """

    number: int = 0
    count: int = 1
    across: int = 1

    @property
    def height(self) -> float:
        """Height of its plot on a page: all rows fit a screen together."""
        return ALONE if self.count <= self.across else STACKED

    @property
    def lowest(self) -> bool:
        """Whether none stands below it, so that its axis has a title."""
        return self.number + self.across >= self.count


def beside(
    charts: Sequence[Chart], across: int = 2, strip: Chart | None = None, *, context: Context
) -> Chart:
    """Join the charts as panels of one figure, below a legend for all of them (`strip`)."""
    across = min(context.across or across, len(charts))
    if len(charts) == 1 and strip is None:
        return charts[0]
    each = max(FULL / across - MARGIN, 110)
    panels = [chart.properties(width=each) for chart in charts]
    apart: dict[str, Any] = dict.fromkeys(
        ("color", "fill", "shape", "strokeDash", "strokeWidth", "size"), "independent"
    )
    grid = Chart(concat=panels, columns=across, spacing=16).scales(**apart)
    if strip is None:
        return grid
    above = strip.properties(width=(each + MARGIN) * across - MARGIN)
    return Chart(vconcat=[above, grid], spacing=6)


def legend_strip(looks: Mapping[str, Look], *, context: Context) -> Chart:
    """Draw a legend as a chart of its own: a stroke with its marker and a name for each look, in
    one row that stretches, or in two where it is long."""
    letter = context.letter
    columns = max(1, len(looks) if sum(map(len, looks)) < 46 else math.ceil(len(looks) / 2))
    if context.across == 1:  # a figure of one column
        columns = min(columns, 2)
    names = list(looks)
    widths = [max(map(len, names[column::columns]), default=0) + GAP for column in range(columns)]
    starts = [0, *accumulate(widths)]  # in letters
    rows = [
        {
            "name": name,
            "who": name,
            "from": starts[place % columns],
            "middle": starts[place % columns] + STROKE / 2,
            "to": starts[place % columns] + STROKE,
            "row": place // columns,
            "number": place,
        }
        for place, name in enumerate(names)
    ]
    lines = math.ceil(len(looks) / columns)
    x, middle, to = (
        channel(f"{end}:Q", scale={"domain": [0, starts[-1]], "nice": False}, axis=None)
        for end in ("from", "middle", "to")
    )
    y = channel("row:Q", scale={"domain": [lines - 0.5, -0.5], "nice": False}, axis=None)
    chart = Chart(pd.DataFrame(rows))
    strokes = [
        chart.filtered(f"datum.number === {place}")
        .mark_rule(color=look.colour, strokeWidth=3, strokeDash=list(look.dash))
        .encode(x=x, x2="to:Q", y=y)
        for place, look in enumerate(looks.values())
    ]
    markers = [
        chart.filtered(f"datum.number === {place}")
        .mark_point(shape=look.shape, color=look.colour, filled=True, size=50, opacity=1)
        .encode(x=middle, y=y)
        for place, look in enumerate(looks.values())
        if look.point
    ]
    words = chart.mark_text(align="left", baseline="middle", dx=5, fontSize=letter).encode(
        x=to, y=y, text="name:N"
    )
    return layered(*strokes, *markers, words).properties(
        width="container",
        height=round(lines * 1.5 * letter),
        description=f"Legend: {', '.join(looks)}.",
        view={"stroke": None},
    )


def share_of_variance(name: str, share: float) -> str:
    """Title an axis of a projection: its name and the share of the variance that it holds."""
    return f"{name} ({text_of(share, 'per cent')} of variance)" if share == share else name
