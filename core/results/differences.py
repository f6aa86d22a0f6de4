"""Differences between two results of the same study, row by row, with simultaneous intervals.

The interval of a difference is made from the intervals of its two values (MOVER: Zou & Donner 2008,
Statistics in Medicine 27), taken as independent: where both results use the same sentences it is
wider than necessary. Intervals are corrected for the number of differences (Bonferroni, with normal
quantiles), because a reader looks for the largest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from core.maths.statistics import LEVEL
from core.results.columns import ends_of, tip_of, with_tooltips
from core.results.drawing.axes import span_of
from core.results.drawing.context import PAGE, Context
from core.results.drawing.curves import Look, Rule, layer_chart, look_channels
from core.results.drawing.style import COLOURS, GREY, SHAPES, colours_of, heading
from core.results.drawing.vega import Chart, channel, layered
from core.results.estimates import estimate_of
from core.results.export import Result
from core.results.names import short_name, short_names
from core.results.numbers import Kind, labels_of

SMALL, ROW = 190.0, 16.0  # height of a small multiple, and of a row in one without lines
TITLES = ("Pinned result", "This result")
DIFFERENCE, NO_DIFFERENCE = "This result minus the pinned one", "no difference"


@dataclass(frozen=True)
class ComparedTable:
    """What is compared of a study's results.

    Attributes:
        table: The table.
        keys: The columns that identify its rows.
        value: The column that is compared.
        kind: The format of a difference.
        along: The key on the x axis of small multiples; "" for a row each.
        drawn: Columns and their values in the rows that small multiples draw.
    """

    table: str
    keys: tuple[str, ...]
    value: str
    kind: Kind = "change"
    along: str = "layer"
    drawn: tuple[tuple[str, str], ...] = ()


def banded_differences(
    first: pd.DataFrame, second: pd.DataFrame, keys: Sequence[str], value: str
) -> pd.DataFrame:
    """Subtract the first table's values from the second's, in the rows whose keys both have: the
    keys, difference, low and high (NaN where a value has no interval), in the first table's
    order."""
    columns = [*keys, value, "low", "high"]
    left, right = (table.reindex(columns=columns) for table in (first, second))
    pairs = left.merge(right, on=list(keys), suffixes=("", "_second"))
    value_second, low, high = f"{value}_second", "low_second", "high_second"
    pairs = pairs[pairs[value].notna() & pairs[value_second].notna()]
    wider = _widening(len(pairs))
    difference = pairs[value_second] - pairs[value]
    down = _together(pairs[value_second] - pairs[low], pairs["high"] - pairs[value])
    up = _together(pairs[high] - pairs[value_second], pairs[value] - pairs["low"])
    differences = pairs[list(keys)].assign(
        difference=difference, low=difference - wider * down, high=difference + wider * up
    )
    return differences.reset_index(drop=True)


def result_differences(first: Result, second: Result, of: ComparedTable) -> pd.DataFrame:
    """Subtract the first result from the second of the same study, where they have rows in common
    (see `banded_differences`); two with one model each, whatever its name."""
    left, right = first.tables[of.table], second.tables[of.table]
    models = [set(table["model"]) if "model" in table else set() for table in (left, right)]
    keys = of.keys
    if "model" in keys and not models[0] & models[1] and all(len(names) == 1 for names in models):
        keys = tuple(key for key in keys if key != "model")
    return banded_differences(left, right, keys, of.value)


def differences_sentence(table: pd.DataFrame, kind: Kind) -> str:
    """Say how many of the differences of `result_differences` are significant, and which is the
    largest."""
    if table.empty:
        return "The two results have no rows in common, so no difference is shown."
    keys = [name for name in table if name not in ("difference", "low", "high")]
    banded = table[table["low"].notna()]
    clear = banded[(banded["low"] > 0) | (banded["high"] < 0)]
    most = (clear if len(clear) else banded if len(banded) else table).loc[
        lambda rows: rows["difference"].abs().idxmax()
    ]
    where = ", ".join(_name(key, most[key]) for key in keys if most[key] == most[key])
    size = estimate_of(most, "difference", kind).direction(
        "higher in the second", "lower in the second"
    )
    if banded.empty:
        return f"The largest difference is {size} ({where}); these values have no intervals."
    verb = "is" if len(clear) <= 1 else "are"
    count = f"{len(clear) or 'None'} of {len(banded)} differences {verb} significant"
    corrected = f", corrected for {len(banded)} comparisons" if len(banded) > 1 else ""
    return f"{count}{corrected}; the largest is {size} ({where})."


def small_multiples(
    first: Result,
    second: Result,
    of: ComparedTable,
    differences: pd.DataFrame | None = None,
    *,
    context: Context = PAGE,
) -> list[Chart]:
    """Draw what is compared of a pinned result and of another one, on one axis, and their
    differences with bands; without `differences`, where they measure different things."""
    low, high = ends_of(of.value)
    tables = [_drawn(result.tables[of.table], of) for result in (first, second)]
    held = [
        table[column] for table in tables for column in (of.value, low, high) if column in table
    ]
    ends = span_of(*held)
    if differences is not None and len(differences):
        tables.append(_drawn(differences, of))
    refs = list(dict.fromkeys(ref for table in tables for ref in table.get("model", ())))
    names = short_names(refs)
    tables = [table.assign(name=_names(table, of, names)) for table in tables]
    lines = dict.fromkeys(name for table in tables for name in table["name"])
    given = dict(zip(map(names.__getitem__, refs), colours_of(refs).values(), strict=True))
    looks = {
        name: Look(given.get(name, COLOURS[n % len(COLOURS)]), SHAPES[n % len(SHAPES)])
        for n, name in enumerate(lines)
    }
    panel = _lines if of.along else _dots
    charts = [
        panel(table, of, of.value, looks, title, ends, context=context)
        for table, title in zip(tables, TITLES, strict=False)
    ]
    for table in tables[2:]:
        reach = span_of([0.0], *(table[column] for column in ("difference", "low", "high")))
        charts.append(panel(table, of, "difference", looks, DIFFERENCE, reach, context=context))
    return charts


def _drawn(table: pd.DataFrame, of: ComparedTable) -> pd.DataFrame:
    """Take the rows that small multiples draw."""
    for column, value in of.drawn:
        if column in table:
            table = table[table[column] == value]
    return table[table[of.along].notna()] if of.along in table else table


def _names(table: pd.DataFrame, of: ComparedTable, names: Mapping[str, str]) -> list[str]:
    """Name each row's line by its keys, but for the one on the x axis and those that are fixed."""
    left_out = {of.along, *dict(of.drawn)}
    keys = [key for key in of.keys if key in table and key not in left_out]
    rows = (
        ", ".join(names.get(str(row[key]), str(row[key])) for key in keys)
        for _, row in table.iterrows()
    )
    return [name or "difference" for name in rows]


def _lines(
    table: pd.DataFrame,
    of: ComparedTable,
    value: str,
    looks: Mapping[str, Look],
    title: str,
    ends: tuple[float, float],
    *,
    context: Context,
) -> Chart:
    """Draw one small multiple: a line with its band for each name."""
    shown = {name: look for name, look in looks.items() if name in set(table["name"])}
    rules = [Rule(NO_DIFFERENCE, 0.0, (4, 4))] if value == "difference" else []
    return layer_chart(
        table.assign(layer=table[of.along].astype(float)), value, shown, title,
        kind=of.kind if value == "difference" else None, x_title=tip_of(of.along).title, ends=ends,
        rules=rules, height=SMALL, context=context,
    )  # fmt: skip


def _dots(
    table: pd.DataFrame,
    of: ComparedTable,
    value: str,
    looks: Mapping[str, Look],
    title: str,
    ends: tuple[float, float],
    *,
    context: Context,
) -> Chart:
    """Draw one small multiple: a row with its interval for each name."""
    rows, tooltip = with_tooltips(table, ("name", value, "low"))
    scale = {"domain": list(ends), "nice": False, "zero": False}
    kind = of.kind if value == "difference" else tip_of(value).kind
    axis = {"tickCount": 4, **(labels_of(kind) if kind else {})}
    x = channel(f"{value}:Q", title=tip_of(value).title, scale=scale, axis=axis)
    y = channel("name:N", title=None, sort=list(looks), axis={"labelLimit": 140, "ticks": False})
    base = Chart(rows).encode(y=y, tooltip=tooltip)
    colour = look_channels(looks)["color"]
    layers = [base.mark_point(filled=True, size=60, opacity=1).encode(x=x, color=colour)]
    if {"low", "high"} <= set(table):
        layers.insert(
            0,
            base.mark_rule(strokeWidth=2).encode(
                x={**x, "field": "low"}, x2="high:Q", color=colour
            ),
        )
    if value == "difference":
        zero = Chart(rows.head(1).assign(zero=0.0)).mark_rule(strokeDash=[4, 4], color=GREY)
        layers.insert(0, zero.encode(x={**x, "field": "zero"}))
    return layered(*layers).properties(
        width="container", height=context.height(ROW * max(len(rows), 2)), title=heading(title),
        description=f"{title}: {tip_of(value).title} of {', '.join(map(str, table['name']))}.",
    )  # fmt: skip


def _name(key: str, value: object) -> str:
    """A row's name in a sentence: layer 3, parse-0, word."""
    if key == "model":
        return short_name(str(value))
    return f"{key} {value:g}" if isinstance(value, (int, float, np.number)) else str(value)


def _together(left: pd.Series[float], right: pd.Series[float]) -> np.ndarray:
    together: np.ndarray = np.hypot(np.maximum(left, 0.0), np.maximum(right, 0.0))
    return together


def _widening(count: int) -> float:
    """Factor by which `count` simultaneous normal intervals are wider than a single one."""
    tail = (1 - LEVEL) / 2
    return NormalDist().inv_cdf(1 - tail / max(1, count)) / NormalDist().inv_cdf(1 - tail)
