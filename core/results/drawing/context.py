"""The drawing style of charts, for a page, a figure of a paper, a report or a presentation.

with drawing(Hand(letter=8, legend=True)):
    chart = similarity_chart(result)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Hand:
    """The drawing style of charts.

    Attributes:
        letter: Font size except for titles, in the chart's units (pixels; points in a figure of a
            paper).
        stretch: Factor for heights.
        thin: Factor for the thickness of lines.
        roomy: Factor for the room for names beside a plot, where the font is enlarged afterwards.
        legend: Whether lines are named in a legend below the plot rather than at their right ends.
        dashed: Whether every line has a dash pattern of its own, for print without colour.
        unnamed: Whether lines have no names in the plot, because a legend above several plots has
            them.
        across: Panels per row in a figure of several; 0 for the chart's default.
    """

    letter: float = 12.0
    stretch: float = 1.0
    thin: float = 1.0
    roomy: float = 1.0
    legend: bool = False
    dashed: bool = False
    unnamed: bool = False
    across: int = 0

    def height(self, pixels: float) -> float:
        """Scale the height of a plot from its pixels on a page."""
        return round(pixels * self.stretch)

    @property
    def narrow(self) -> float:
        """Width of a scatter plot on a phone or in one column of a paper, for which names are placed."""
        return 165 if self.across == 1 else 330

    @property
    def small(self) -> float:
        """Smallest font size, for names of points; at least 7 points on paper."""
        return max(self.letter * 10 / 12, 7.0)

    @property
    def row(self) -> float:
        """Height of a line of text."""
        return 1.22 * self.letter


_HAND: ContextVar[Hand] = ContextVar("hand", default=Hand())  # noqa: B039 - frozen


def hand() -> Hand:
    """Return the current drawing style."""
    return _HAND.get()


@contextmanager
def drawing(chosen: Hand) -> Iterator[None]:
    """Draw charts in this style within a block."""
    before = _HAND.set(chosen)
    try:
        yield
    finally:
        _HAND.reset(before)
