"""Maps of points: names where there is room, more of them while one zooms in, marked points.

A map on a page (`Context.zooms`) is moved by dragging with a mouse and enlarged by the wheel with
Ctrl or Command, or by spreading two fingers on a trackpad; a double click resets it. The wheel
alone and fingers on a touch screen scroll the page.
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
Ends = tuple[list[float], list[float]]
MOST_STRESS = 0.1  # above it, distances on a map mislead


def stress_in_words(stresses: Mapping[int, float], elsewhere: str) -> str:
    """Say what a map loses of the distances and, where that is too much, where to read them.

    Args:
        stresses: Number of dimensions -> stress, that of the drawn map first.
        elsewhere: What has the distances themselves.

    Example:
        >>> stress_in_words({2: 0.65, 3: 0.57}, "Distances")
        'stress .65 in 2 dimensions, .57 in 3: distorted, read distances in Distances'
        >>> stress_in_words({2: 0.04}, "the table")
        'stress .04 in 2 dimensions'
    """
    (first, stress), *more = stresses.items()
    said = [f"stress {text_of(stress)} in {first} dimensions"]
    said += [f"{text_of(value)} in {count}" for count, value in more]
    distorted = f": distorted, read distances in {elsewhere}" if stress > MOST_STRESS else ""
    return ", ".join(said) + distorted


def matches(texts: Mapping[str, Sequence[str]], wanted: str) -> NDArray[np.bool_]:
    """Find the points of which a text contains a searched name, in upper or lower case.

    Args:
        texts: Columns of texts, one per point.
        wanted: Names or parts of names, separated by commas.

    Returns:
        Shape (point,); all false if nothing is searched.
    """
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
    """Place the name of each point, the first rows first.

    Args:
        table: Points, with columns x and y.
        names: Of the points.
        ends: Of both axes.
        height: Of the plot in pixels.
        radius: Of a point in pixels.
        bold: Which names are bold.
        leading: Height of a line, in font sizes.

    Returns:
        The table with the name's place beside the point (dx, dy, pixels), whether it is free
        (named), and how often the map must be enlarged for that (room; infinite if it never is).
    """
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
    """Draw the names that are free, and on a page those that become free while one zooms in.

    Args:
        points: With a table from `placed`, and a column `marked` if `faded`.
        ends: Of both axes.
        faded: Whether names of unmarked points are faint.
        without: A Vega-Lite predicate of points whose names are left out.
        look: Of the letters.
    """
    shown = points if context.zooms else points.filtered("datum.named")
    names = shown.mark_text(**OFFSET, **look)
    conditions: list[dict[str, Any]] = [{**without, "value": 0}] if without else []
    if context.zooms:
        whole = ends[0][1] - ends[0][0]
        # rows have null where a name is never free, which counts as 0 in a product
        hidden = f"!datum.room || abs(span(domain('x'))) * datum.room > {whole * 1.001!r}"
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
