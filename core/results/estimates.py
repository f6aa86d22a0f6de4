"""Estimates: a number with its interval, the level of the interval, and the kind of number.

Tables keep estimates as columns (value, low, high); sentences, tooltips and reports format them
with `core.results.numbers`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core.maths.statistics import LEVEL
from core.results.columns import COLUMNS, Column, ends_of
from core.results.metrics import METRICS, OF_SELECTIVITY, is_of_hundred
from core.results.numbers import Kind, band_text


@dataclass(frozen=True)
class Estimate:
    """A number with its interval.

    Attributes:
        value: The number; NaN where there is none.
        low, high: Ends of its interval; NaN where it has none.
        level: Share of such intervals that contain the true value.
        kind: Its format, see `core.results.numbers.text_of`.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = LEVEL
    kind: Kind = "share"

    @property
    def clear(self) -> bool:
        """Whether its interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def text(self) -> str:
        """The number with its interval: ".29 [.27, .31]", "57 % [55, 59]"."""
        return band_text(self.value, self.low, self.high, self.kind)

    @property
    def value_text(self) -> str:
        """The number without its interval: ".29", "57 %"."""
        return band_text(self.value, math.nan, math.nan, self.kind)

    @property
    def size(self) -> str:
        """A difference without its direction: "5.2 points [2.6, 8.0]"."""
        if self.value < 0:
            return band_text(-self.value, -self.high, -self.low, self.kind)
        return self.text

    def direction(self, above: str, below: str) -> str:
        """Write a difference with its direction: "5.2 points [2.6, 8.0] above the untrained model".

        Args:
            above: Written after a positive difference, or 0.
            below: Written after a negative one, whose size and interval are written without a
                minus.
        """
        return f"{self.size} {below if self.value < 0 else above}"


def estimate_of(
    row: Mapping[str, Any] | pd.Series, column: str, kind: Kind | None = None
) -> Estimate:
    """Read an estimate, with its interval where there is one, from a row of a table; its kind is
    inferred from the column's name and the row's metric where it is None.

    `low` and `high` are the interval of the first column that may share them; other columns have
    their own, or none.
    """
    columns = row.keys()  # of a Series, too, which iterates over its values
    shared = (name for name in columns if COLUMNS.get(name, Column()).interval == "shared")
    low, high = ends_of(column)
    has_ends = low != "low" or column == next(shared, column)
    ends = (_float(row.get(low)), _float(row.get(high))) if has_ends else (math.nan, math.nan)
    level = float(row.get("level", LEVEL))
    return Estimate(
        _float(row[column]), *ends, level if level == level else LEVEL, kind or kind_of(column, row)
    )


def estimates_of(table: pd.DataFrame, column: str) -> list[Estimate]:
    """Read a column of a table with its intervals, row by row."""
    return [estimate_of(row, column) for row in table.to_dict("records")]


def kind_of(column: str, row: Mapping[str, Any] | pd.Series) -> Kind:
    """Infer the format of a column's numbers, in a row that may name a metric."""
    metric = str(row.get("metric", ""))
    if column in ("value", "rival_value", "dev") and metric:
        if not metric.endswith(OF_SELECTIVITY):
            return METRICS[metric].kind if metric in METRICS else "share"
        return "gain" if is_of_hundred(metric) else "change"
    if column in ("difference", "margin", "ahead", "cost"):
        return "gain" if is_of_hundred(metric) else "change"
    return COLUMNS.get(column, Column()).kind


def kind_in(table: pd.DataFrame, column: str) -> Kind:
    """Infer the format of a column's numbers in a table, by its first row."""
    return kind_of(column, table.iloc[0] if len(table) else {})


def _float(value: Any) -> float:
    """A cell as a number; NaN where it is missing."""
    return math.nan if value is None or value is pd.NA else float(value)
