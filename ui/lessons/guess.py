"""The reader's guess as a mark in a chart: a rule across the plot, with its label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

YOURS = "your guess"
DOT, MOST_DOTS = "●", 20


@dataclass(frozen=True)
class Mark:
    """A labelled value on one of a chart's axes.

    Attributes:
        axis, value, label: Where the rule is, and what it is called.
        crowd: Everybody's values: a value, and how many have it.
    """

    axis: Literal["x", "y"]
    value: float
    label: str = YOURS
    crowd: tuple[tuple[float, int], ...] = ()


def marked(spec: Mapping[str, Any], mark: Mark, colour: str) -> dict[str, Any]:
    """Draw the mark into a copy of a chart's Vega-Lite, or into every panel of a chart with
    several."""
    for panels in ("hconcat", "vconcat", "concat"):
        if panels in spec:
            return {**spec, panels: [marked(panel, mark, colour) for panel in spec[panels]]}
    place = {mark.axis: {"datum": mark.value}}
    words: dict[str, Any] = {
        "type": "text",
        "text": mark.label,
        "color": colour,
        "fontSize": 13,
        "fontWeight": 600,
    }
    if mark.axis == "y":
        words |= {"x": 6, "align": "left", "dy": -8}
    else:
        words |= {"y": 8, "align": "left", "dx": 6}
    drawn: list[dict[str, Any]] = [
        {
            "data": {"values": [{}]},
            "mark": {"type": "rule", "color": colour, "strokeWidth": 2},
            "encoding": place,
        },
        {"data": {"values": [{}]}, "mark": words, "encoding": place},
    ]
    for value, count in mark.crowd:  # a row of dots, from the axis into the plot
        dots = {**words, "text": f"{DOT * min(count, MOST_DOTS)} {count}", "fontWeight": 400}
        dots |= {"dy": 0, "x": 4} if mark.axis == "y" else {"dx": 0, "y": 24, "angle": 90}
        there = {mark.axis: {"datum": value}}
        drawn.append({"data": {"values": [{}]}, "mark": dots, "encoding": there})
    if "layer" in spec:
        return {**spec, "layer": [*spec["layer"], *drawn]}
    if "mark" not in spec:
        return dict(spec)
    whole = (
        "$schema",
        "config",
        "data",
        "datasets",
        "width",
        "height",
        "title",
        "autosize",
        "usermeta",
        "padding",
    )
    outer = {name: value for name, value in spec.items() if name in whole}
    inner = {name: value for name, value in spec.items() if name not in whole}
    return {**outer, "layer": [inner, *drawn]}
