"""What a chart is drawn for, handed to it as an argument: a page, a lecture hall, a paper.

similarity_chart(result, "states", context=Context(letter=8, legend=True))
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """How charts are drawn.

    Attributes:
        letter: Size of all letters but titles, in the chart's units (pixels; points in a figure of
            a paper).
        stretch: What heights are multiplied by.
        thin: What the thickness of lines is multiplied by.
        legend: Whether lines are named in a legend below the plot rather than at their right ends.
        dashed: Whether every line has a dash of its own, to be told apart in grey.
        unnamed: Whether lines have no names in the plot: a legend above several plots has them.
        across: Panels beside each other in a figure of several; 0 for as many as the chart says.
        zooms: Whether a map can be moved and enlarged, as on a page.
        moves: Whether points move between their places, such as those of two layers, as on a page.
        zoomed: Whether an axis of lines reaches only as far as they do, and its title says so.
    """

    letter: float = 12.0
    stretch: float = 1.0
    thin: float = 1.0
    legend: bool = False
    dashed: bool = False
    unnamed: bool = False
    across: int = 0
    zooms: bool = False
    moves: bool = False
    zoomed: bool = False

    def height(self, pixels: float) -> float:
        """Height of a plot that is this many pixels high on a page."""
        return round(pixels * self.stretch)

    @property
    def narrow(self) -> float:
        """Width of a map on a phone or in one column of a paper: names are placed for it."""
        return 165 if self.across == 1 else 330

    @property
    def small(self) -> float:
        """Size of the smallest letters: names of points; never under 7 points on paper."""
        return max(self.letter * 10 / 12, 7.0)

    @property
    def row(self) -> float:
        """Height of a line of letters, with the room that it needs above the next."""
        return 1.22 * self.letter


PAGE = Context()
