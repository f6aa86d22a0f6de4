"""Maps of points: names where there is room, more of them while one zooms in, marked points.

A map on a page (`Context.zooms`) is moved by dragging with a mouse and enlarged by the wheel with
Ctrl or Command, or by spreading two fingers on a trackpad; a double click resets it. The wheel
alone and fingers on a touch screen scroll the page.

Points of a map on a page may move between stages, such as layers: the chart holds the points of
every stage, and a parameter says which is drawn, or where between two of them (`moving`, `moved`).
The page changes it without drawing the chart again (`ui/browser/motion.js`). Where the points have
a third coordinate, a slider below the chart turns them: at 90 degrees it is the horizontal axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.errors import by_number
from core.results.drawing.context import Context
from core.results.drawing.labels import free_labels
from core.results.drawing.vega import Chart, either
from core.results.numbers import text_of

ZOOM = "zoom"  # name of the selection that holds the visible part
_MODIFIED, _MOUSE = "event.ctrlKey || event.metaKey", "event.pointerType === 'mouse'"
_DRAG = f"[pointerdown[{_MOUSE}], window:pointerup] > window:pointermove!"
ENLARGED = (1.0, 2.0, 4.0, 8.0)  # enlargements at which names are placed
FAINT = 0.2  # opacity of points beside the marked ones
SEPARATOR = ","  # of searched names
BOLD, PLAIN = 0.64, 0.48  # mean width of a letter, in font sizes
OFFSET: dict[str, Any] = {"dx": {"expr": "datum.dx"}, "dy": {"expr": "datum.dy"}}
Ends = tuple[list[Any], list[Any]]  # of both axes: numbers, or expressions of points that move
STAGE = "stage"  # name of the parameter: 2 is the third stage, 2.5 halfway to the next
STAGE_BOX = "palimpsest-stage"  # id of the field on the page that holds it, as text
IN_BOX = {"element": f"#{STAGE_BOX}"}
GLIDING = ("x", "y", "z", "dx", "dy")  # columns that change evenly between two stages
TURN = "turn"  # name of the parameter and of its slider, in degrees
TURNS: dict[str, Any] = {
    "input": "range",
    "min": -90,
    "max": 90,
    "step": 5,
    "name": "Turn (degrees)",
}
ACROSS = "across"  # x before a turn; x itself Vega would turn again whenever the angle changes
TURNED = f"{TURN}_cos * datum.{ACROSS} + {TURN}_sin * datum.z"
NEARER = 0.8  # by how much of its size the nearest point of a turned map is larger
FRAME: Ends = (
    [{"expr": f"{STAGE}_left"}, {"expr": f"{STAGE}_right"}],
    [{"expr": f"{STAGE}_y_low"}, {"expr": f"{STAGE}_y_high"}],
)
MOST_STRESS = 0.1  # above it, distances on a map mislead


def stress_in_words(stresses: Mapping[int, float], elsewhere: str) -> str:
    """Say what a map loses of the distances, by number of dimensions, the drawn map's first, and
    where that is too much, where to read them.

    Example:
        >>> stress_in_words({2: 0.65, 3: 0.57}, "Distances")
        'distances are off by 65 % (stress; 57 % in 3 dimensions): read them in Distances'
        >>> stress_in_words({2: 0.04}, "the table")
        'distances are off by 4.0 % (stress)'
    """
    stress, *_ = stresses.values()
    more = [
        f"; {text_of(value, 'per cent')} in {count} dimensions"
        for count, value in [*stresses.items()][1:]
    ]
    distorted = f": read them in {elsewhere}" if stress > MOST_STRESS else ""
    return f"distances are off by {text_of(stress, 'per cent')} (stress{''.join(more)}){distorted}"


def matches(texts: Mapping[str, Sequence[str]], wanted: str) -> NDArray[np.bool_]:
    """Find the points of which a text contains one of the wanted names or parts of names, separated
    by commas, in upper or lower case."""
    terms = [term.strip().casefold() for term in wanted.split(SEPARATOR) if term.strip()]
    rows = zip(*texts.values(), strict=True)
    return np.array(
        [any(term in str(text).casefold() for term in terms for text in row) for row in rows],
        dtype=bool,
    )


def count_matches(marked: NDArray[np.bool_], wanted: str, point: str) -> str:
    """Say how many points a search found: "2 of 36 models match “parse”"; "" without a search."""
    if not wanted.strip():
        return ""
    number = int(marked.sum())
    verb = by_number(number, "matches", "match")
    return f"{number or 'none'} of {len(marked)} {point}s {verb} “{wanted.strip()}”"


def placed(
    table: pd.DataFrame,
    names: Sequence[str],
    ends: Ends,
    height: float,
    radius: float,
    *,
    bold: Sequence[bool],
    leading: float = 1.0,
    context: Context,
) -> pd.DataFrame:
    """Place the name of each point, the first rows first: where beside the point (dx, dy, pixels),
    whether it is free (named), and how often the map must be enlarged for that (room; infinite if
    never)."""
    (x_ends, y_ends), width = ends, context.narrow
    x = (table["x"].to_numpy() - x_ends[0]) / (x_ends[1] - x_ends[0]) * width
    y = (y_ends[1] - table["y"].to_numpy()) / (y_ends[1] - y_ends[0]) * height
    letters = np.array([len(name) for name in names], dtype=float)
    widths = letters * context.letter * np.where(bold, BOLD, PLAIN) + 2
    offsets: list[tuple[float, float] | None] = [None] * len(table)
    room = np.full(len(table), np.inf)
    for enlarged in ENLARGED if context.zooms else ENLARGED[:1]:
        xs, ys = x * enlarged, y * enlarged
        kept = [
            (a + each[0], b + each[1]) if each else None
            for each, a, b in zip(offsets, xs, ys, strict=True)
        ]
        places = free_labels(
            xs, ys, widths, context.letter * leading, (width * enlarged, height * enlarged),
            radius, kept,
        )  # fmt: skip
        for number, place in enumerate(places):
            if place is not None and offsets[number] is None:
                offsets[number] = (place[0] - xs[number], place[1] - ys[number])
                room[number] = enlarged
    above = (0.0, -(radius + context.letter * leading / 2 + 1))
    return table.assign(
        named=room == 1,
        room=room,
        dx=[(each or above)[0] for each in offsets],
        dy=[(each or above)[1] for each in offsets],
    )


def name_layer(
    points: Chart,
    ends: Ends,
    *,
    faded: bool,
    without: Mapping[str, Any] | None = None,
    context: Context,
    **look: Any,
) -> Chart:
    """Draw the names that are free, and on a page those that become free while one zooms in. Points
    are `placed`, and `marked` where others fade; `without` is a Vega-Lite predicate of names left
    out."""
    shown = points if context.zooms else points.filtered("datum.named")
    names = shown.mark_text(**OFFSET, **look)
    conditions: list[dict[str, Any]] = [{**without, "value": 0}] if without else []
    if context.zooms:
        left, right = (end["expr"] if isinstance(end, dict) else end for end in ends[0])
        # rows have null where a name is never free, which counts as 0 in a product
        hidden = (
            f"!datum.room || abs(span(domain('x'))) * datum.room > 1.001 * ({right} - ({left}))"
        )
        conditions.append({"test": hidden, "value": 0})
    if faded:
        conditions.append({"test": "!datum.marked", "value": FAINT})
    return names.encode(opacity={"condition": conditions, "value": 1}) if conditions else names


def opacity(usual: float, *, faded: bool) -> dict[str, Any]:
    """Make the channel of a point's opacity: faint beside marked points if `faded`."""
    return either("datum.marked", usual, FAINT) if faded else {"value": usual}


def zoomed(layers: Sequence[Chart], *, context: Context) -> list[Chart]:
    """Let a map of these layers be moved and enlarged on a page; its marks end at its frame."""
    if not context.zooms:
        return list(layers)
    zoom = {
        "name": ZOOM,
        "bind": "scales",
        "select": {
            "type": "interval",
            "zoom": f"wheel![{_MODIFIED}]",
            "translate": _DRAG,
            "clear": "dblclick",
        },
    }
    first, *rest = (layer.clipped() for layer in layers)
    return [first.with_param(zoom), *rest]


def moving(stages: Sequence[pd.DataFrame], switching: Sequence[str] = ()) -> Chart:
    """Begin a chart of points that move through the stages, each `placed`, with a z if they can be
    turned. Columns are the first stage's, but `GLIDING` ones are interpolated, `switching` ones the
    nearer stage's. `datum.near` scales turned points."""
    if len(stages) == 1:
        return Chart(stages[0])
    gliding = [column for column in GLIDING if column in stages[0]]
    changing = (*gliding, *switching)
    rows = stages[0].drop(columns=list(changing))
    held = {
        f"{column}_{number}": stage[column].to_numpy()
        for number, stage in enumerate(stages)
        for column in changing
    }
    rows = pd.concat([rows, pd.DataFrame(held, index=rows.index)], axis=1)
    steps = {column: _between(f"datum['{column}_' + %s]") for column in gliding}
    steps |= {column: f"datum['{column}_' + round({STAGE}_at)]" for column in switching}
    if "z" not in gliding:
        return Chart(rows).calculated(**steps)
    steps[ACROSS] = steps.pop("x")
    depth = f"({TURN}_cos * datum.z - {TURN}_sin * datum.across) / ({STAGE}_z_high - {STAGE}_z_low)"
    return Chart(rows).calculated(
        **steps,
        x=TURNED,
        near=f"1 + {NEARER} * clamp(2 * {depth}, -1, 1) * abs({TURN}_sin)",
    )


def turned(rows: pd.DataFrame) -> Chart:
    """Begin a chart of points, with x, y and z, that do not move in a map that can be turned."""
    return Chart(rows.rename(columns={"x": ACROSS})).calculated(x=TURNED)


def moved(
    chart: Chart,
    frames: Sequence[Sequence[list[float]]],
    first: int,
    bind: Mapping[str, Any] = IN_BOX,
) -> Chart:
    """Give a chart of `moving` points the parameter of their stage, held by `bind`, and a slider
    that turns them if the frames (ends of the axes at each stage; none where they stay) have a
    third axis."""
    parameters = {
        f"{STAGE}_at": f"toNumber({STAGE})",  # a field holds text
        f"{STAGE}_before": f"floor({STAGE}_at)",
        f"{STAGE}_after": f"ceil({STAGE}_at)",
        f"{STAGE}_part": f"{STAGE}_at - {STAGE}_before",
    }
    for axis, ends in zip("xyz", zip(*frames, strict=True), strict=False):
        for end, held in zip(("low", "high"), zip(*ends, strict=True), strict=True):
            parameters[f"{STAGE}_{axis}_{end}"] = _between(f"{[*held]!r}[%s]")
    left, right = f"{STAGE}_x_low", f"{STAGE}_x_high"
    chart = chart.with_param({"name": STAGE, "value": first, "bind": bind})
    if f"{STAGE}_z_low" in parameters:
        chart = chart.with_param({"name": TURN, "value": 0, "bind": TURNS})
        parameters |= {f"{TURN}_{part}": f"{part}({TURN} * PI / 180)" for part in ("cos", "sin")}
        # the farthest that a point of the box round all points can get
        low, high = (f"{TURN}_sin * {STAGE}_z_{end}" for end in ("low", "high"))
        left = f"{TURN}_cos * {left} + min({low}, {high})"
        right = f"{TURN}_cos * {right} + max({low}, {high})"
    if frames:
        parameters |= {f"{STAGE}_left": left, f"{STAGE}_right": right}
    for name, expression in parameters.items():
        chart = chart.with_param({"name": name, "expr": expression})
    return chart


def _between(held: str) -> str:
    """Write the expression that changes evenly from stage to stage; %s in it stands for the stage's
    number."""
    before, after = held % f"{STAGE}_before", held % f"{STAGE}_after"
    return f"(1 - {STAGE}_part) * {before} + {STAGE}_part * {after}"
