"""Positions of names at lines and points: without overlap, and as close to what they name as
possible."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from core.results.drawing.axes import Plane
from core.results.drawing.vega import Chart, equals
from core.results.numbers import text_of

# two strokes across a line: it goes on outside of the axis
BREAK = "M-1,0.45L1,-0.15M-1,0.95L1,0.35"
LONGEST_NAME = 21  # letters of a line of a name


def dodge(values: ArrayLike, sizes: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Place labels without overlap, in the order of their values, moved as little as possible:
    least squares under order (pool adjacent violators), then shifted to fit the axis. Returns each
    label's middle."""
    wanted = np.asarray(values, dtype=float)
    size = np.broadcast_to(np.asarray(sizes, dtype=float), wanted.shape)
    order = np.argsort(wanted, kind="stable")
    sorted_sizes = size[order]
    steps = np.concatenate([[0.0], np.cumsum((sorted_sizes[:-1] + sorted_sizes[1:]) / 2)])
    blocks: list[list[float]] = []  # mean, count
    for value in np.clip(wanted[order], low, high) - steps:
        blocks.append([float(value), 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            before = blocks[-1]
            before[0] = (before[0] * before[1] + mean * count) / (before[1] + count)
            before[1] += count
    placed = np.concatenate([[mean] * int(count) for mean, count in blocks])
    placed = np.clip(placed, low, low + max(high - low - float(steps[-1]), 0.0)) + steps
    dodged: NDArray[np.float64] = np.empty(len(placed))
    dodged[order] = placed
    return dodged


def coinciding(lines: Sequence[NDArray[np.float64]], within: float) -> list[int]:
    """Find for each line the first line that is `within` this distance of it wherever both have a
    value (NaN: none); itself where there is none."""
    first: list[int] = []
    for number, line in enumerate(lines):
        on = number
        for earlier in range(number):
            earlier_line = lines[earlier]
            both = np.isfinite(line) & np.isfinite(earlier_line)
            if (
                first[earlier] == earlier
                and np.array_equal(np.isfinite(line), np.isfinite(earlier_line))
                and both.any()
                and float(np.abs(line[both] - earlier_line[both]).max()) <= within
            ):
                on = earlier
                break
        first.append(on)
    return first


def crossings(x: ArrayLike, y: ArrayLike, top: float) -> NDArray[np.float64]:
    """Find where a piecewise linear line crosses `top`, in the units of x."""
    places, values = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    before, after = values[:-1], values[1:]
    through = (before > top) != (after > top)
    through &= np.isfinite(before) & np.isfinite(after)
    share = (top - before[through]) / (after[through] - before[through])
    crossed: NDArray[np.float64] = places[:-1][through] + share * (
        places[1:][through] - places[:-1][through]
    )
    return crossed


def free_labels(
    x: ArrayLike,
    y: ArrayLike,
    widths: ArrayLike,
    height: float,
    size: tuple[float, float],
    radius: float,
    kept: Sequence[tuple[float, float] | None] = (),
) -> list[tuple[float, float] | None]:
    """Place the names of points, in pixels, y downwards, above, below, right or left of each, the
    first points first, without overlap with points or `kept` places. Returns each name's centre, or
    None."""
    xs, ys, wide = (np.asarray(values, dtype=float) for values in (x, y, widths))
    dots = np.stack([xs - radius, ys - radius, xs + radius, ys + radius], axis=1)

    def box_at(i: int, centre: tuple[float, float]) -> NDArray[np.float64]:
        half = np.array([wide[i] / 2, height / 2])
        return np.concatenate([centre - half, centre + half])

    given = list(kept) or [None] * len(xs)
    there = [box_at(i, centre) for i, centre in enumerate(given) if centre is not None]
    taken = np.stack(there) if there else np.empty((0, 4))
    places: list[tuple[float, float] | None] = []
    for i, place in enumerate(given):
        if place is not None:
            places.append(place)
            continue
        up, side = radius + height / 2 + 1, radius + wide[i] / 2 + 3
        free = None
        tried = (
            *((0.0, -up), (0.0, up), (side, 0.0), (-side, 0.0)),
            *((side, -up), (-side, -up), (side, up), (-side, up)),
        )
        for dx, dy in tried:
            centre = (xs[i] + dx, ys[i] + dy)
            box = box_at(i, centre)
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]
            rest = np.delete(dots, i, axis=0)
            if inside and not _overlaps(box, taken) and not _overlaps(box, rest):
                free = centre
                taken = np.vstack([taken, box])
                break
        places.append(free)
    return places


def _overlaps(box: NDArray[np.float64], boxes: NDArray[np.float64]) -> bool:
    apart = (
        (boxes[:, 0] >= box[2])
        | (boxes[:, 2] <= box[0])
        | (boxes[:, 1] >= box[3])
        | (boxes[:, 3] <= box[1])
    )
    return bool((~apart).any())


def owners(table: pd.DataFrame) -> list[str]:
    """Name whose row each one is, with its `who` on a second line where it has one."""
    if "who" not in table.columns:
        return [str(name) for name in table["name"]]
    pairs = zip(table["who"], table["name"], strict=True)
    return [
        f"{name}\n{who}" if isinstance(who, str) and who != name else str(name)
        for who, name in pairs
    ]


def end_names(
    table: pd.DataFrame,
    plane: Plane,
    shown: Sequence[str],
    twins: Mapping[str, str],
    named: Sequence[tuple[str, float]],
) -> list[dict[str, Any]]:
    """Make one row per name: where its line ends, where the name is placed, and its text."""
    rows: list[dict[str, Any]] = []
    first = table["name"].map(twins.get)
    for name in dict.fromkeys(twins.values()):
        line = table[table["name"] == name].sort_values(plane.x)
        x, value = float(line[plane.x].iloc[-1]), float(line[plane.y].iloc[-1])
        words = " = ".join(each for each in shown if twins[each] == name)
        if value > plane.high:
            words += f" {text_of(value, plane.kind)}"
        whose = "\n".join(dict.fromkeys(owners(table[first == name])))
        rows.append(
            {
                "text": words,
                "name": name,
                "who": whose,
                "x": x,
                "y": min(max(value, plane.low), plane.high),
            }
        )
    rows += [
        {"text": text, "name": "", "who": "", "x": plane.x_ends[1], "y": value}
        for text, value in named
    ]
    if rows:
        wrapped = [textwrap.wrap(row["text"], LONGEST_NAME) for row in rows]
        sizes = [plane.context.row * len(lines) for lines in wrapped]
        ups = dodge(plane.up([row["y"] for row in rows]), sizes, 0.0, plane.pixels)
        for row, lines, at in zip(rows, wrapped, plane.back(ups), strict=True):
            # Vega puts the first line, not the middle, at the place.
            up = -(len(lines) - 1) * plane.context.row / 2
            row |= {"text": "\n".join(lines), "at": float(at), "end": plane.x_ends[1], "up": up}
    return rows


def drawn_names(
    rows: Sequence[dict[str, Any]],
    plane: Plane,
    x: Any,
    colours: Mapping[str, str],
    shown: Sequence[str],
) -> list[Any]:
    """Draw names at the right ends of their lines, in ink, each joined to its line by a stroke of
    its colour, which is dotted where the line ends before the plot does."""
    if not rows:
        return []
    chart = Chart(pd.DataFrame(rows))
    at = plane.y_of("at")
    early = {row["name"]: {"strokeDash": [1, 3]} for row in rows if row["x"] < row["end"]}
    look: dict[str, Any] = {"strokeWidth": 1.5, "xOffset": 4, "x2Offset": 13}
    strokes = [
        chart.filtered(equals("name", name))
        .mark_rule(color=colours[name], **look, **early.get(name, {}))
        .encode(x={**x, "field": "x"}, x2="end:Q", y=plane.y_of("y"), y2="at:Q")
        for name in shown
        if any(row["name"] == name for row in rows)
    ]
    words = chart.mark_text(
        align="left",
        baseline="middle",
        dx=16,
        dy={"expr": "datum.up"},
        fontSize=plane.context.letter,
        lineBreak="\n",
        lineHeight=plane.context.row,
    )
    return [*strokes, words.encode(x={**x, "field": "end"}, y=at, text="text:N")]


def breaks(
    table: pd.DataFrame, plane: Plane, x: Any, y: Any, colours: Mapping[str, str]
) -> list[Any]:
    """Draw two strokes across a line where it leaves the plot at the top."""
    marks = []
    leaving = {*table.loc[table[plane.y] > plane.high, "name"]}
    for name in (each for each in colours if each in leaving):
        line = table[table["name"] == name].sort_values(plane.x)
        values, places = line[plane.y].to_numpy(dtype=float), line[plane.x].to_numpy(dtype=float)
        at = list(crossings(places, values, plane.high))
        if (values > plane.high).all():  # nothing of it is in the plot
            at = [float(places[-1])]
        who = owners(line.head(1))[0]
        marks += [
            {"name": name, "who": who, plane.x: float(place), plane.y: plane.high} for place in at
        ]
    if not marks:
        return []
    rows = pd.DataFrame(marks)
    chart = Chart(rows)
    return [
        chart.filtered(equals("name", name))
        .mark_point(
            shape=BREAK,
            size=130,
            filled=False,
            strokeWidth=1.6,
            opacity=1,
            color=colours[name],
        )
        .encode(x=x, y=y)
        for name in dict.fromkeys(rows["name"])
    ]
