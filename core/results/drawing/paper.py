"""Figures for papers: one or two columns wide, in 8-point type, with captions.

Widths are those of most two-column journals. No text in a figure is smaller than 7 points in print.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.results.drawing import files as drawn
from core.results.drawing.context import Hand, drawing
from core.results.drawing.panels import Panels
from core.results.drawing.vega import Chart

if TYPE_CHECKING:
    from core.results.export import Result

INCHES = {1: 3.3, 2: 6.9}  # columns -> width
LETTER = 8.0  # points
DPI = 300.0
THIN = 0.62  # thickness of lines, relative to a page
PADDING = 3.0
Drawing = Callable[[], "Chart | Sequence[Chart] | Panels"]


@dataclass(frozen=True)
class Paper:
    """The format of a figure for a paper.

    Attributes:
        columns: 1 or 2.
        titled: Whether it has a title, which the caption repeats.
        legend: Whether lines are named in a legend rather than at their ends.
        grey: Whether every line has a dash pattern of its own, for print without colour.
    """

    columns: int = 1
    titled: bool = False
    legend: bool = False
    grey: bool = True

    @property
    def hand(self) -> Hand:
        """Its drawing style."""
        stretch = 0.56 if self.columns == 1 else 0.62
        return Hand(LETTER, stretch, THIN, legend=self.legend, dashed=self.grey, across=1 if self.columns == 1 else 0)


def one_chart(made: Chart | Sequence[Chart] | Panels) -> Chart:
    """Join what a view draws into one figure."""
    if isinstance(made, Panels):
        return made.figure()
    if isinstance(made, (list, tuple)):
        return Panels(made).figure()
    return made  # type: ignore[return-value]


def paper_file(draw: Drawing, paper: Paper, suffix: str) -> bytes:
    """Draw the figure as "pdf", "svg" or "png" (300 dots per inch), at its width in print."""
    inches = INCHES[paper.columns]
    with drawing(paper.hand):
        spec = drawn.sheet(one_chart(draw()), 72 * inches, LETTER, titled=paper.titled, thin=THIN, padding=PADDING)
    if suffix == "svg":
        return drawn.svg(spec, inches)
    return drawn.pdf(spec) if suffix == "pdf" else drawn.png(spec, 1.0, DPI)


def caption(draw: Drawing, result: Result) -> str:
    """Write the caption: title, subtitle and methods paragraph."""
    spec = one_chart(draw()).to_dict()
    parts = [drawn.title_of(each) for each in (spec, *drawn.panels_of(spec)) if any(drawn.title_of(each))]
    titles = "; ".join(dict.fromkeys(title for title, _ in parts if title))
    below = "; ".join(dict.fromkeys(text for _, text in parts if text))
    begun = f"{titles}. " if titles else ""
    explained = f"{below[0].upper()}{below[1:]}. " if below else ""
    return f"{begun}{explained}{result.methods}".strip()
