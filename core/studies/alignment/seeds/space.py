"""The chart of the space of an alignment: held-out words before and after a map."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.errors import SpecError
from core.maths.maps.registry import METHODS
from core.results.drawing import maps
from core.results.drawing.curves import look_channels
from core.results.drawing.style import BLUE, GREY, ORANGE, SHAPES, heading, legend
from core.studies.chart_kit import (
    PAGE,
    Chart,
    Context,
    Look,
    Result,
    channel,
    layered,
    short_names,
    text_of,
)

SPACE = 270  # height of a plot with a slider below
SLIDER = {"input": "range", "min": 0, "max": 1, "step": 0.05, "name": "Map (0 before, 1 after)"}


def mapped_pairs(result: Result) -> list[tuple[str, str]]:
    """List the pairs of models, source and target, whose words were projected."""
    if "mapped_points" not in result.arrays:  # no pair of the models was aligned
        return []
    refs = list(result.spec["models"])
    drawn = np.asarray(_projected(result).any(0))
    return [
        (source, target)
        for a, source in enumerate(refs)
        for b, target in enumerate(refs)
        if drawn[a, b]
    ]


def maps_between(result: Result, source: str, target: str) -> list[str]:
    """List the maps that have projections of a pair's words, in the study's order."""
    refs, drawn = list(result.spec["models"]), _projected(result)
    pair = refs.index(source), refs.index(target)
    return [name for name, there in zip(result.spec["methods"], drawn, strict=True) if there[pair]]


def first_map(result: Result, source: str, target: str) -> str:
    """Choose the map that is shown at first: ridge, if it has projections."""
    offered = maps_between(result, source, target)
    return "ridge" if "ridge" in offered else offered[0]


def space_charts(
    result: Result, source: str, target: str, method: str, layer: int, *, context: Context = PAGE
) -> list[Chart]:
    """Draw the words after a map, and before it where the spaces are equally wide."""
    refs = list(result.spec["models"])
    layers = sorted({int(number) for number in result.table["layer"]})
    pair = refs.index(source), refs.index(target)
    before = np.isfinite(result.arrays["source_points"][pair]).any()
    return [
        space_chart(*(result, source, target, method, layers.index(layer), place), context=context)
        for place in (("source", "mapped") if before else ("mapped",))
    ]


def space_chart(
    result: Result,
    source: str,
    target: str,
    method: str,
    layer: int,
    place: str,
    *,
    context: Context = PAGE,
) -> Chart:
    """Draw held-out words on the target's first two principal components, before ("source") or
    after the map ("mapped"), where on a page a slider moves them there; `layer` is a place among
    the study's. Raises SpecError if there is no such projection."""
    before, after, theirs = _points(result, source, target, method, layer)
    ours = before if place == "source" else after
    there = np.isfinite(ours).all(-1) & np.isfinite(theirs).all(-1)
    if not there.any():
        raise SpecError(
            f"{source} was not mapped into {target} by {method}: choose another pair or map."
        )
    before, after, ours, theirs = (at[there] for at in (before, after, ours, theirs))
    framed = context.moves and bool(np.isfinite([before, after]).all())
    moves = framed and place == "mapped"
    who = np.flatnonzero(there).astype(str)  # highlights a word in both panels
    names = short_names((source, target))
    spaces = (names[source] if place == "source" else f"{names[source]}, mapped", names[target])
    ends, dots = [], []
    for at in [before, after] if moves else [ours]:
        source_dots, target_dots = (
            pd.DataFrame({"who": who, "space": space, "x": points[:, 0], "y": points[:, 1]})
            for space, points in zip(spaces, (at, theirs), strict=True)
        )
        dots.append(pd.concat([source_dots, target_dots], ignore_index=True))
        ends.append(source_dots.drop(columns="space").assign(x2=theirs[:, 0], y2=theirs[:, 1]))
    axis = {"labels": False, "ticks": False, "grid": False}
    x = channel("x:Q", title="First principal component of the target, at this layer", axis=axis)
    y = channel("y:Q", title="Second principal component", axis=axis)
    if framed:  # both panels have one frame, in which words move
        everywhere = np.concatenate([before, after, theirs])
        low, high = everywhere.min(0).tolist(), everywhere.max(0).tolist()
        x, y = ({**side, "scale": {"domain": [low[n], high[n]]}} for n, side in enumerate((x, y)))
    looks = dict(zip(spaces, (Look(ORANGE, SHAPES[0]), Look(BLUE, SHAPES[1])), strict=True))
    rules = maps.moving(ends).mark_rule(opacity=0.35, color=GREY)
    rules = rules.encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    points = maps.moving(dots).mark_point(filled=True, size=26, opacity=0.8)
    points = points.encode(
        x=x,
        y=y,
        tooltip=[channel("space:N", title="Space")],
        **look_channels(looks, "space", legend()),
    )
    length = text_of(_mean_length(ours, theirs))
    title = "Before the map" if place == "source" else f"After the map: {METHODS[method].label}"
    chart = layered(rules, points).properties(
        title=heading(title, f"lines join a word's vectors, mean length {length}"),
        width="container",
        height=context.height(SPACE),
        description=f"{title}. {_in_words(len(ours), spaces, length)}",
    )
    return maps.moved(chart, (), 1, SLIDER) if moves else chart


def _projected(result: Result) -> np.ndarray:
    """Tell whether words were projected after a map, (method, source, target)."""
    points = result.arrays["mapped_points"]
    return np.asarray(np.isfinite(points).any((-1, -2, -3)))


def _points(
    result: Result, source: str, target: str, method: str, layer: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the words of the source before and after the map, and those of the target, (word, 2)."""
    refs, methods = list(result.spec["models"]), list(result.spec["methods"])
    pair = (refs.index(source), refs.index(target), layer)
    arrays = result.arrays
    after = arrays["mapped_points"][(methods.index(method), *pair)]
    return arrays["source_points"][pair], after, arrays["target_points"][pair]


def _mean_length(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Average the distance of a word's two vectors, in units of that of the target's words from
    their centre."""
    apart, spread = (
        np.linalg.norm(at, axis=1).mean() for at in (ours - theirs, theirs - theirs.mean(0))
    )
    return float(apart / (spread or 1.0))


def _in_words(words: int, spaces: tuple[str, str], length: str) -> str:
    return (
        f"Scatter plot of {words} words in two spaces, {spaces[0]} and {spaces[1]}. The mean "
        f"distance between the two vectors of a word is {length} of the mean distance of the "
        "target's words from their centre."
    )
