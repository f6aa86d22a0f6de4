"""The axes that all layers of a plot share: their ends, titles and number formats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.results.drawing.context import Context
from core.results.drawing.style import LAYER_TITLE
from core.results.drawing.vega import OfWidth, channel
from core.results.numbers import Kind, labels_of

NARROWEST = 0.5  # smallest share of the width for the lines beside their names


@dataclass(frozen=True)
class Plane:
    """The axes that all layers of a plot share.

    Attributes:
        x, y: Columns.
        x_title, y_title: Titles of the axes; "" where the panel below has the title.
        low, high: Ends of the y axis; a line that goes beyond gets a break mark.
        kind: Format of the numbers of y.
        x_ends: Ends of the x axis.
        height: Of the plot on a page.
        x_axis: Further properties of the x axis, as in Vega-Lite.
        x_log, y_log: Whether an axis is logarithmic.
        context: What it is drawn for.
    """

    x: str
    y: str
    x_title: str
    y_title: str
    low: float
    high: float
    x_ends: tuple[float, float]
    kind: Kind = "share"
    height: float = 320
    x_axis: Mapping[str, Any] = field(default_factory=lambda: {"tickMinStep": 1, "format": "d"})
    x_log: bool = False
    y_log: bool = False
    context: Context = field(kw_only=True)

    @property
    def pixels(self) -> float:
        """Height of the plot."""
        return self.context.height(self.height)

    def up(self, values: Any) -> NDArray[np.float64]:
        """Convert values of y to pixels from the bottom."""
        ends, at = np.array([self.low, self.high], dtype=float), np.asarray(values, dtype=float)
        if self.y_log:
            ends, at = np.log10(ends), np.log10(np.maximum(at, 1e-300))
        heights: NDArray[np.float64] = (at - ends[0]) / (ends[1] - ends[0]) * self.pixels
        return heights

    def back(self, pixels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Convert pixels from the bottom to units of y."""
        share = pixels / self.pixels
        if self.y_log:
            return self.low * (self.high / self.low) ** share
        return self.low + share * (self.high - self.low)

    def x_of(self, room: float = 0.0, column: str = "") -> dict[str, Any]:
        """Make the x axis, with room at its right end for names."""
        ends: dict[str, Any] = {"domain": list(self.x_ends), "nice": False}
        ends |= {"type": "log", "base": 2} if self.x_log else {"zero": False}
        if room:
            left = round(room)  # pixels that the lines leave to their names
            width = OfWidth(
                f"max(width - {left}, {NARROWEST} * width)",
                lambda width: round(max(width - left, NARROWEST * width), 1),
            )
            ends["range"] = [0, width]
        axis = {"grid": False, "labelFlush": False, **self.x_axis}
        return channel(f"{column or self.x}:Q", title=self.x_title or None, scale=ends, axis=axis)

    def y_of(self, column: str = "") -> dict[str, Any]:
        """Make the y axis."""
        scale: dict[str, Any] = {"domain": [self.low, self.high], "nice": False}
        scale |= {"type": "log"} if self.y_log else {"zero": False}
        more: dict[str, Any] = {**labels_of(self.kind)}
        if self.y_log:
            more = {"format": "~g", **labels_of("share")}
        if self.kind == "whole":
            step = max(1, round((self.high - self.low) / 5))
            more = {
                "values": list(range(ceil(self.low), floor(self.high) + 1, step)),
                "format": "d",
            }
        return channel(
            f"{column or self.y}:Q", title=self.y_title, scale=scale, axis={"tickCount": 5, **more}
        )


def layer_plane(
    table: pd.DataFrame,
    y: str,
    y_title: str,
    ends: tuple[float, float],
    *,
    margin: float = 0.0,
    **more: Any,
) -> Plane:
    """Make a plane over layers, with a margin of so many layers at both ends; 0 is the
    embeddings."""
    layers = table["layer"].dropna()
    bottom, top = (float(layers.min()), float(layers.max())) if len(layers) else (0.0, 1.0)
    more = {"x_title": LAYER_TITLE, **more}
    return Plane(
        "layer",
        y,
        y_title=y_title,
        low=ends[0],
        high=ends[1],
        x_ends=(bottom - margin, max(top, bottom + 1) + margin),
        **more,
    )


def span_of(
    *columns: Any, zero: bool = False, top: float | None = None, pad: float = 0.06
) -> tuple[float, float]:
    """Compute the ends of an axis that holds these values (NaN ignored), with room at each end, a
    share of their range."""
    values = (
        np.concatenate([np.asarray(column, dtype=float).ravel() for column in columns])
        if columns
        else np.zeros(0)
    )
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 1.0 if top is None else top
    low, high = float(values.min()), float(values.max()) if top is None else top
    room = pad * ((high - low) or abs(high) or 1.0)
    if zero and low >= 0:
        return 0.0, high if top is not None else high + room
    if zero:
        high = max(high, 0.0)
    return low - room, high if top is not None else high + room
