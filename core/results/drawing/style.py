"""What charts of all rooms have in common: colours, shapes, legends, titles, the axis of layers.
Said here once.

Colours are Okabe and Ito's, told apart by colour-blind readers, and every model has a point shape
as well. A task has one colour on all pages, base models are ink, reference models grey. No chart
sets a background or a text colour, so a light and a dark theme both fit: the page swaps each colour
for its counterpart (`ui/study/figures.py`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.results.drawing.context import PAGE, Context
from core.results.drawing.vega import OfWidth

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, OLIVE, BROWN = "#E69F00", "#56B4E9", "#8A7A3C", "#5B5446"
PURPLE = "#B66BB0"
COLOURS = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, OLIVE, BROWN)
GREY = "#8C8C8C"  # nulls, reference models, rules: readable on paper and on black
TASK_COLOURS: Mapping[str, str] = {
    "parse": BLUE,
    "sentiment": ORANGE,
    "nli": GREEN,
    "pos": SKY,
    "question": YELLOW,
    "subjectivity": PINK,
}
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down"),
    *("triangle-right", "triangle-left"),
)
DASHES = ([6, 4], [2, 3], [10, 3, 2, 3])
LONGEST_BESIDE = 14  # letters of a title that has room before its legend on a phone
LAYER_TITLE = "Layer (0 = embeddings)"


def task_of(ref: str) -> str:
    """Find the task in the name of an included model: `parse` for zoo:parse-0; "" for others."""
    kind, _, name = ref.partition(":")
    task = name.partition("-")[0]
    return task if kind == "zoo" and task in TASK_COLOURS else ""


def colours_of(refs: Iterable[str]) -> dict[str, str]:
    """Choose a colour for each model: its task's; ink for an included base model; otherwise one
    that no task here has."""
    colours: dict[str, str] = {}
    wanted = list(dict.fromkeys(refs))
    taken = {TASK_COLOURS[task_of(ref)] for ref in wanted if task_of(ref)}
    free = [colour for colour in (BROWN, OLIVE, *COLOURS) if colour not in taken] or list(COLOURS)
    untasked = [ref for ref in wanted if not task_of(ref)]
    for ref in wanted:
        task = task_of(ref)
        colours[ref] = TASK_COLOURS[task] if task else free[untasked.index(ref) % len(free)]
    return colours


def colour_between(share: float) -> str:
    """Interpolate between blue (0) and orange (1), for ordered lines such as layers."""
    ends = [[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in (BLUE, ORANGE)]
    mixed = [
        ((1 - share) * start**2.2 + share * end**2.2) ** (1 / 2.2)
        for start, end in zip(*ends, strict=True)
    ]
    return "#" + "".join(f"{round(255 * part):02x}" for part in mixed)


def shapes_of(refs: Iterable[str]) -> dict[str, str]:
    """Choose a point shape for each model in turn, because models of one task share a colour."""
    return {ref: SHAPES[number % len(SHAPES)] for number, ref in enumerate(dict.fromkeys(refs))}


def heading(text: str, subtitle: str = "") -> dict[str, Any]:
    """Write a chart's title at its left edge, with a line below it, which begins with a capital
    unless its first word holds more than letters, as seed-0 does."""
    if subtitle.partition(" ")[0].rstrip(",:;").isalpha():
        subtitle = subtitle[0].upper() + subtitle[1:]
    return {"text": text, "anchor": "start", **({"subtitle": subtitle} if subtitle else {})}


def columns_for(names: Iterable[str], *, context: Context) -> OfWidth:
    """Count the columns of a legend for which the chart's width has room; all in one row where that
    is wide enough."""
    listed = [str(name) for name in names]
    longest = max(map(len, listed), default=1)
    each = 0.58 * context.letter * longest + 28  # letters, the symbol and the gap
    most, each = max(len(listed), 1), round(each)
    return OfWidth(
        f"min({most}, max(1, floor(width / {each})))",
        lambda width: min(most, max(1, int(width / each))),
        early=True,
    )


def legend(
    columns: int | OfWidth = 2, width: int = 250, lines: bool = False, **more: Any
) -> dict[str, Any]:
    """Place a legend below the chart, of entries that are `width` pixels at most, as strokes for
    `lines`; several legends are stacked."""
    stroke: dict[str, Any] = (
        {"symbolType": "stroke", "symbolSize": 300, "symbolStrokeWidth": 2, "rowPadding": 0}
        if lines
        else {}
    )
    return {
        "orient": "bottom",
        "columns": columns,
        "labelLimit": width,
        "titleLimit": width,
        "symbolOpacity": 1,
        **{**stroke, **more},
    }


def gradient(title: str | None = None, *, context: Context, **more: Any) -> dict[str, Any]:
    """Place a heatmap's legend below it. A short title stands before it, a longer one above, where
    a phone has room for it."""
    side = "left" if len(title or "") <= LONGEST_BESIDE else "top"
    about: dict[str, Any] = {} if title is None else {"title": title, "titleOrient": side}
    length = 160 * context.letter / PAGE.letter
    return {"orient": "bottom", "gradientLength": length, "tickCount": 5, **{**about, **more}}
