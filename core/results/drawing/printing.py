"""A figure for a paper: as wide as a column or two, letters of 8 points, with its caption, in the
colours of a palette.

Widths are those of most two-column journals. Nothing in a figure is smaller than 7 points at its
printed size. Charts are drawn in the colours of `core.results.drawing.style`; a palette replaces
them in the specification afterwards, never in its data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from core.results.drawing import files as drawn
from core.results.drawing import style
from core.results.drawing.context import PAGE, Context
from core.results.drawing.panels import Drawn, Panels
from core.results.drawing.vega import Chart, mapped, replaced

SUFFIXES = ("pdf", "svg", "png")
HEIGHTS = {"Low": 0.75, "Usual": 1.0, "High": 1.4}
INCHES = {1: 3.3, 2: 6.9}  # columns -> width
LETTER = 8.0  # points
DPI = 300.0
THIN = 0.62  # of the thickness of lines on a page
PADDING = 3.0
HEX = re.compile(r"#[0-9a-fA-F]{6}")
LUMINANCE = (0.299, 0.587, 0.114)  # of red, green and blue, as in grey television (BT.601)
RAMP = ["#1a1a1a", "#f2f2f2"]  # in place of viridis: dark to light, too
USUAL, MUTED, GREYS = "Okabe and Ito", "Tol, muted", "Greys"
# Paul Tol, Colour Schemes, SRON/EPS/TN/09-002 (2021), the scheme "muted".
TOL: Mapping[str, str] = {
    style.BLUE: "#332288",
    style.ORANGE: "#CC6677",
    style.GREEN: "#117733",
    style.PINK: "#AA4499",
    style.YELLOW: "#DDCC77",
    style.SKY: "#88CCEE",
    style.OLIVE: "#999933",
    style.BROWN: "#882255",
    style.PURPLE: "#44AA99",
}
PALETTES = (USUAL, MUTED, GREYS)


class Drawing(Protocol):
    """What draws a view: a chart, several, or `Panels`."""

    def __call__(self, *, context: Context) -> Drawn:
        """Draw it for a page, a hall or a paper."""
        ...


@dataclass(frozen=True)
class Paper:
    """How a figure of a paper is made.

    Attributes:
        columns: 1 or 2.
        titled: Whether it has its title above; a caption says it too.
        legend: Whether lines are named in a legend rather than at their ends.
        grey: Whether every line has a dash of its own, to be told apart without colour.
        height: What the heights of plots are multiplied by: one of `HEIGHTS`.
        palette: One of `PALETTES`.
    """

    columns: int = 1
    titled: bool = False
    legend: bool = False
    grey: bool = True
    height: float = 1.0
    palette: str = USUAL

    @property
    def context(self) -> Context:
        """What it is drawn for."""
        stretch = 0.56 if self.columns == 1 else 0.62
        return Context(
            LETTER,
            stretch * self.height,
            THIN,
            legend=self.legend,
            dashed=self.grey,
            across=1 if self.columns == 1 else 0,
        )


def one_chart(draw: Drawing, context: Context = PAGE) -> Chart:
    """Join what a view draws into one figure."""
    return _panels(draw(context=context)).figure(context)


def joined(first: Drawing, second: Drawing) -> Drawing:
    """Draw two views as one: the second's charts follow the first's, under the first's legend."""

    def draw(*, context: Context) -> Panels:
        above, below = (_panels(view(context=context)) for view in (first, second))
        return replace(above, charts=[*above.charts, *below.charts])

    return draw


def _panels(made: Drawn) -> Panels:
    if isinstance(made, Panels):
        return made
    return Panels(made if isinstance(made, Sequence) else [made])


def paper_file(draw: Drawing, paper: Paper, suffix: str) -> bytes:
    """Draw the figure as "pdf", "svg" or "png" (300 dots per inch), at its width in print.

    Raises:
        ValueError: If it is none of these.
    """
    if suffix not in SUFFIXES:
        raise ValueError(f"A figure is made as {', '.join(SUFFIXES)}, not as {suffix!r}.")
    inches = INCHES[paper.columns]
    chart = one_chart(draw, paper.context)
    spec = drawn.sheet(chart, 72 * inches, LETTER, titled=paper.titled, thin=THIN, padding=PADDING)
    spec = in_palette(spec, paper.palette)
    if suffix == "svg":
        return drawn.svg(spec, inches)
    return drawn.pdf(spec) if suffix == "pdf" else drawn.png(spec, 1.0, DPI)


def caption(draw: Drawing) -> str:
    """Say what the figure shows, in a line or two: its titles and what stands below them.

    How the numbers were made is in the result's methods paragraph.
    """
    spec = one_chart(draw).to_dict()
    parts = [
        drawn.title_of(each) for each in (spec, *drawn.panels_of(spec)) if any(drawn.title_of(each))
    ]
    titles = "; ".join(dict.fromkeys(title for title, _ in parts if title))
    sentences = (titles, *dict.fromkeys(text for _, text in parts))
    return " ".join(
        sentence if sentence[-1] in ".?!" else f"{sentence}." for sentence in sentences if sentence
    )


def in_palette(spec: Mapping[str, Any], palette: str) -> dict[str, Any]:
    """Return the specification in the colours of a palette.

    Args:
        spec: Vega-Lite; it is not changed.
        palette: One of `PALETTES`. In greys a colour keeps its luminance, so that lines
            differ by luminance, dash and shape alone.

    Raises:
        KeyError: If there is no such palette.
    """
    muted = {old.lower(): new for old, new in TOL.items()}
    new: dict[str, Callable[[str], str]] = {
        USUAL: lambda colour: colour,
        MUTED: lambda colour: muted.get(colour.lower(), colour),
        GREYS: grey_of,
    }
    spec = dict(replaced(spec, new[palette]))
    return dict(mapped(spec, _without_hue)) if palette == GREYS else spec


def grey_of(text: str) -> str:
    """Return the grey of a colour's luminance; a text that is no colour as it is."""
    if not HEX.fullmatch(text):
        return text
    parts = (int(text[at : at + 2], 16) for at in (1, 3, 5))
    level = round(sum(weight * part for weight, part in zip(LUMINANCE, parts, strict=True)))
    return f"#{level:02x}{level:02x}{level:02x}"


def _without_hue(part: Any) -> Any:
    """Replace the colour scheme of heatmaps by a ramp of greys in the same order."""
    if not isinstance(part, dict) or part.get("scheme") != "viridis":
        return part
    return {name: each for name, each in part.items() if name != "scheme"} | {"range": RAMP}
