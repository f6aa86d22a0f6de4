"""Vega-Lite specifications as plain dictionaries: marks, encodings, layers, panels.

A chart is not validated while it is built, because altair takes seconds to copy and validate a
chart of many layers. The tests validate every figure with Vega-Lite's schema, and
`chart.to_altair()` gives the chart as an altair object.

    Chart(table).mark_line(clip=True).encode(x=channel("layer:Q", title="Layer"),
    y=channel("score:Q"))
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partialmethod
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    import altair as alt

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.1.0.json"
TYPES = {"Q": "quantitative", "N": "nominal", "O": "ordinal"}
SECOND = ("x2", "y2")  # ends, which take the type of x and y
JOINED = ("layer", "concat", "vconcat")  # how a chart holds other charts


@dataclass(frozen=True)
class OfWidth:
    """A part of a specification that depends on the width of its plot.

    Attributes:
        expression: A Vega expression in the signal `width`, for a plot that stretches.
        at: Computes the value for a width in pixels: panels and legends have no such signal.
        early: Whether a file resolves it before the plot is drawn, at the requested width.
    """

    expression: str
    at: Callable[[float], float]
    early: bool = False


class Chart:
    """A plot, or several in one; each method returns a new chart and does not change this one."""

    def __init__(self, table: pd.DataFrame | None = None, **parts: Any) -> None:
        """Begin a chart of a table with one row per mark (None where inner charts have tables), and
        parts as in Vega-Lite, in which inner charts are `Chart`s."""
        self._table = table
        self._parts = parts

    def properties(self, **parts: Any) -> Chart:
        """Set parts of the specification (width, height, title, description ...)."""
        return Chart(self._table, **{**self._parts, **parts})

    def encode(self, **channels: Any) -> Chart:
        """Set channels: each a dictionary, a list of dictionaries, or a short "column:Q"."""
        encoding = {
            **self._parts.get("encoding", {}),
            **{name: _channel(name, channels[name]) for name in channels},
        }
        return self.properties(encoding=encoding)

    def filtered(self, test: str | Mapping[str, Any]) -> Chart:
        """Keep the rows for which a Vega expression or a Vega-Lite predicate is true."""
        return self._transformed({"filter": test})

    def calculated(self, **columns: str) -> Chart:
        """Add columns, each computed by a Vega expression."""
        steps = [{"calculate": expression, "as": name} for name, expression in columns.items()]
        return self._transformed(*steps)

    def scales(self, **how: str) -> Chart:
        """Set whether a channel's scale is "independent" or "shared" between the inner charts."""
        resolved = {**self._parts.get("resolve", {}).get("scale", {}), **how}
        return self.properties(resolve={"scale": resolved})

    def with_param(self, param: Mapping[str, Any]) -> Chart:
        """Add a parameter, such as a selection."""
        return self.properties(params=[*self._parts.get("params", []), param])

    def clipped(self) -> Chart:
        """Draw nothing outside the plot's frame."""
        return self.properties(mark={**self._parts["mark"], "clip": True})

    def _transformed(self, *steps: Mapping[str, Any]) -> Chart:
        return self.properties(transform=[*self._parts.get("transform", []), *steps])

    def _marked(self, kind: str, **look: Any) -> Chart:
        """Draw each row as a mark, or all rows as one line or area; `look` is as in Vega-Lite."""
        return self.properties(mark={"type": kind, **look})

    mark_area: partialmethod[Chart] = partialmethod(_marked, "area")
    mark_bar: partialmethod[Chart] = partialmethod(_marked, "bar")
    mark_line: partialmethod[Chart] = partialmethod(_marked, "line")
    mark_point: partialmethod[Chart] = partialmethod(_marked, "point")
    mark_rect: partialmethod[Chart] = partialmethod(_marked, "rect")
    mark_rule: partialmethod[Chart] = partialmethod(_marked, "rule")
    mark_text: partialmethod[Chart] = partialmethod(_marked, "text")
    mark_tick: partialmethod[Chart] = partialmethod(_marked, "tick")

    def to_dict(self, *, open_widths: bool = False) -> dict[str, Any]:
        """Return the whole specification, which shares no object with the chart; its tables are in
        `datasets`, each once. `OfWidth` stays for `settled` where widths are open."""
        datasets: dict[str, list[dict[str, Any]]] = {}
        names: dict[int, str] = {}
        spec = self._spec(datasets, names)
        config = {
            "view": {"continuousWidth": 300, "continuousHeight": 300},
            **spec.pop("config", {}),
        }
        whole: dict[str, Any] = {
            "$schema": SCHEMA,
            "config": config,
            **spec,
            **({"datasets": datasets} if datasets else {}),
        }
        return whole if open_widths else dict(settled(whole))

    def _spec(
        self, datasets: dict[str, list[dict[str, Any]]], names: dict[int, str]
    ) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        if self._table is not None:
            if id(self._table) not in names:
                rows = rows_of(self._table)
                digest = hashlib.sha256(json.dumps(rows, ensure_ascii=False).encode()).hexdigest()
                names[id(self._table)] = f"data-{digest[:32]}"
                datasets[names[id(self._table)]] = rows
            spec["data"] = {"name": names[id(self._table)]}
        for name, part in self._parts.items():
            if name in JOINED:
                spec[name] = [each._spec(datasets, names) for each in part]
            else:
                spec[name] = _plain(part)
        return spec

    def to_altair(self) -> alt.TopLevelMixin:
        """Convert the chart to an altair object."""
        import altair as alt

        chart: alt.TopLevelMixin = alt.Chart.from_dict(self.to_dict())
        return chart

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        """The chart for a notebook."""
        return {"application/vnd.vegalite.v6+json": self.to_dict()}


def channel(shorthand: str, **more: Any) -> dict[str, Any]:
    """Make a channel of a column and type, such as "layer:Q" (quantitative), "name:N" (nominal) or
    "step:O" (ordinal); `more` as in Vega-Lite, None removes a part."""
    name, _, kind = shorthand.rpartition(":")
    return {"field": name, "type": TYPES[kind], **more}


def either(test: str, then: Any, otherwise: Any) -> dict[str, Any]:
    """Make a channel with one value where a Vega expression is true and another where it is not."""
    return {"condition": {"test": test, "value": then}, "value": otherwise}


def equals(column: str, given: Any) -> str:
    """Write the Vega expression that is true where a column has a value."""
    return f"datum[{json.dumps(column)}] === {json.dumps(given, ensure_ascii=False)}"


def layered(*charts: Chart) -> Chart:
    """Draw charts over each other."""
    return Chart(layer=list(charts))


def rows_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Convert a table to a dictionary per row, with None for missing or infinite values."""
    columns = {str(name): _values(table.iloc[:, place]) for place, name in enumerate(table.columns)}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """Change every part of a specification, the innermost first, but not its data."""
    if isinstance(node, list):
        node = [mapped(each, change) for each in node]
    elif isinstance(node, Mapping):
        node = {
            name: each if name in ("data", "datasets") else mapped(each, change)
            for name, each in node.items()
        }
    return change(node)


def settled(node: Any, width: float | None = None, *, early: bool = False) -> Any:
    """Resolve the parts of a specification that depend on the plot's width.

    Args:
        node: The specification or a part of it; it is not changed.
        width: Of the plot in pixels; without it, the parts become expressions that Vega resolves.
        early: Resolve only the parts that are needed before the plot is drawn.
    """

    def resolved(part: Any) -> Any:
        if not isinstance(part, OfWidth) or (early and not part.early):
            return part
        return {"expr": part.expression} if width is None else part.at(width)

    return mapped(node, resolved)


def replaced(part: Any, new: Callable[[str], str]) -> Any:
    """Replace the strings in a part of a specification, such as colours, but not in its data."""
    return mapped(part, lambda each: new(each) if isinstance(each, str) else each)


def _values(column: pd.Series[Any]) -> list[Any]:
    there = column.notna().tolist()
    given = [each.item() if hasattr(each, "item") else each for each in column.tolist()]
    return [
        each if good and not (isinstance(each, float) and math.isinf(each)) else None
        for each, good in zip(given, there, strict=True)
    ]


def _channel(name: str, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    made = channel(given)
    return {"field": made["field"]} if name in SECOND else made


def _plain(part: Any) -> Any:
    """Copy deeply, with numpy numbers converted to Python's."""
    if isinstance(part, Mapping):
        return {name: _plain(each) for name, each in part.items()}
    if isinstance(part, (list, tuple)):
        return [_plain(each) for each in part]
    return part.item() if hasattr(part, "item") else part
