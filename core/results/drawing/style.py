"""Style shared by all charts: colours, shapes, legends, titles, the layer axis.

Colours are Okabe and Ito's, which colour-blind readers can distinguish, and every model has a point
shape as well. A task has the same colour on all pages, base models are dark brown, reference models
grey. No chart sets a background or a text colour, so that it fits a light and a dark theme: in dark
mode the page replaces each colour by its counterpart (`ui/study/figures.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.results.drawing.context import Hand, hand
from core.results.drawing.vega import OfWidth

BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
YELLOW, SKY, OLIVE, BROWN = "#E69F00", "#56B4E9", "#8A7A3C", "#5B5446"
PURPLE = "#B66BB0"
COLOURS = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, OLIVE, BROWN)
GREY = "#8C8C8C"  # chance, reference models, rules: readable on white and on black
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
LAYER_TITLE = "Layer (0 = embeddings)"


def task_of(ref: str) -> str:
    """Find the task in the name of an included model: `parse` for zoo:parse-0; "" for any other model."""
    kind, _, name = ref.partition(":")
    task = name.partition("-")[0]
    return task if kind == "zoo" and task in TASK_COLOURS else ""


def colours_of(refs: Iterable[str]) -> dict[str, str]:
    """Choose a colour for each model: its task's, dark brown for an included base model, else one that is free."""
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
    mixed = [((1 - share) * start**2.2 + share * end**2.2) ** (1 / 2.2) for start, end in zip(*ends, strict=True)]
    return "#" + "".join(f"{round(255 * part):02x}" for part in mixed)


def shapes_of(refs: Iterable[str]) -> dict[str, str]:
    """Choose a point shape for each model, in turn, to distinguish models of the same task and colour."""
    return {ref: SHAPES[number % len(SHAPES)] for number, ref in enumerate(dict.fromkeys(refs))}


def heading(text: str, subtitle: str | list[str] = "") -> dict[str, Any]:
    """Make a chart's title, aligned left, with a subtitle of one or more lines."""
    return {"text": text, "anchor": "start", **({"subtitle": subtitle} if subtitle else {})}


def columns_for(names: Iterable[str]) -> OfWidth:
    """Compute how many columns of a legend fit the chart's width."""
    listed = [str(name) for name in names]
    each = 0.58 * hand().letter * max(map(len, listed), default=1) + 28  # letters, the symbol and the gap
    most, each = max(len(listed), 1), round(each)
    return OfWidth(
        f"min({most}, max(1, floor(width / {each})))",
        lambda width: min(most, max(1, int(width / each))),
        early=True,
    )


def legend(columns: int | OfWidth = 2, width: int = 250, lines: bool = False, **more: Any) -> dict[str, Any]:
    """Make a legend below the chart; several legends of a chart are stacked.

    Args:
        columns: Entries per row; `columns_for` gives as many as fit.
        width: Largest width of an entry's text, in pixels.
        lines: Whether symbols are strokes, for dashes, rather than points.
        more: Further properties, as in Vega-Lite.
    """
    stroke: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 2} if lines else {}
    return {
        "orient": "bottom",
        "columns": columns,
        "labelLimit": width,
        "titleLimit": width,
        "symbolOpacity": 1,
        **{**stroke, **more},
    }


def gradient(title: str | None = None, **more: Any) -> dict[str, Any]:
    """Make the legend of a heatmap, in one line below it; `more` as in Vega-Lite."""
    about: dict[str, Any] = {} if title is None else {"title": title, "titleOrient": "left"}
    length = 160 * hand().letter / Hand().letter
    return {"orient": "bottom", "gradientLength": length, "tickCount": 5, **{**about, **more}}
