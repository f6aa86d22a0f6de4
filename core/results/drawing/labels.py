"""Positions of names at lines and points: without overlap, and as close to what they name as
possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def dodge(values: ArrayLike, sizes: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Place labels without overlap, in the order of their values, moved as little as possible.

    Least squares under order (pool adjacent violators, after subtracting the sizes of the labels
    below), then shifted to fit the axis.

    Args:
        values: Wanted positions of the labels, shape (label,).
        sizes: Size of each label on the axis, shape (label,) or one for all.
        low, high: Ends of the axis; labels that fit stay between them.

    Returns:
        Middle of each label, shape (label,), in the order of `values`.
    """
    wanted = np.asarray(values, dtype=float)
    if not len(wanted):
        return np.zeros(0)
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
    """Find for each line the first line with which it coincides (itself where there is none).

    Args:
        lines: Values at the same positions, NaN where a line has none.
        within: Distance within which two lines cannot be distinguished by eye.
    """
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
    """Place the names of points above, below, right or left of each, without overlap with names or
    points, in pixels.

    Points are placed in order, so the more important ones come first; a name without a free place
    gets None.

    Args:
        x, y: Points in pixels, shape (point,), y downwards.
        widths: Width of each name, shape (point,).
        height: Height of a name.
        size: Width and height of the plot.
        radius: Of a point.
        kept: Centre of each name that has its place already, or None; none has if empty.

    Returns:
        Centre of each name, or None.
    """
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
    if not len(boxes):
        return False
    apart = (
        (boxes[:, 0] >= box[2])
        | (boxes[:, 2] <= box[0])
        | (boxes[:, 1] >= box[3])
        | (boxes[:, 3] <= box[1])
    )
    return bool((~apart).any())
