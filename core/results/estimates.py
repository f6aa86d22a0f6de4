"""An estimate: a number, its band, how sure the band is, and what kind of number it is.

Tables keep estimates as columns (value, low, high); sentences, tooltips and reports write them through
`core.results.numbers`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.results.numbers import Kind, band_text

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.95
KINDS: dict[str, Kind] = {
    "accuracy": "per cent",
    "share": "per cent",
    "chance": "per cent",
    "margin": "gain",
    "p_value": "p",
    "smallest_p": "p",
    "difference": "change",
    "ahead": "gain",
    "null_mean": "amount",
    "rank": "whole",
    "items": "whole",
    "intruders": "whole",
    "seconds": "seconds",
}  # by the name of a column; others are shares of 1
OF_HUNDRED = ("uuas", "root", "uas", "accuracy", "unseen")  # metrics that probes count in per cent of cases
PREFIXED = ("loss", "excess", "ahead")  # columns whose band is named after them
BANDED = (
    "similarity",
    "value",
    "nmse",
    "difference",
    "margin",
    "score",
    "accuracy",
    "auc",
    "distance",
)  # columns to which `low` and `high` belong: of a table's, the first


@dataclass(frozen=True)
class Estimate:
    """A number with its band.

    Attributes:
        value: The number; NaN where there is none.
        low, high: Ends of its band; NaN where it has none.
        level: Share of cases in which such a band holds the truth.
        kind: How it is written, see `core.results.numbers.text_of`.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    level: float = LEVEL
    kind: Kind = "share"

    @property
    def banded(self) -> bool:
        """Whether it has a band."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def clear(self) -> bool:
        """Whether its whole band lies on one side of 0."""
        return self.low > 0 or self.high < 0

    @property
    def text(self) -> str:
        """The number with its band: ".29 [.27, .31]", "57 % [55, 59]"."""
        return band_text(self.value, self.low, self.high, self.kind)

    @property
    def value_text(self) -> str:
        """The number without its band: ".29", "57 %"."""
        return band_text(self.value, math.nan, math.nan, self.kind)

    @property
    def size(self) -> str:
        """A difference without its direction: "5.2 points [2.6, 8.0]"."""
        if self.value < 0:
            return band_text(-self.value, -self.high, -self.low, self.kind)
        return self.text

    def direction(self, above: str, below: str) -> str:
        """A difference with its direction: "5.2 points [2.6, 8.0] above the untrained model".

        Args:
            above: What is said of a difference from 0 up, behind the number.
            below: What is said of a negative one, whose size and band are written without their minus.
        """
        return f"{self.size} {below if self.value < 0 else above}"


def estimate_of(row: Mapping[str, Any] | pd.Series, column: str, kind: Kind | None = None) -> Estimate:
    """The estimate that one row of a table holds.

    Args:
        row: Of a table that has the column, and its band where there is one.
        column: Of the value.
        kind: How it is written; by the column's name, and the row's metric, where None.
    """
    low, high = _ends(column)
    level = float(row.get("level", LEVEL))
    ends = (_float(row.get(low)), _float(row.get(high)))
    return Estimate(_float(row[column]), *ends, level if level == level else LEVEL, kind or kind_of(column, row))


def estimates_of(table: pd.DataFrame, column: str) -> list[Estimate]:
    """A column of a table with its bands, row by row.

    `low` and `high` are the band of the table's first column of `BANDED`; others have their own, or none.
    """
    owner = next((name for name in BANDED if name in table), "")
    low, _ = _ends(column)
    rows = table if low != "low" or column == owner else table.drop(columns=["low", "high"], errors="ignore")
    return [estimate_of(row, column) for row in rows.to_dict("records")]


def kind_of(column: str, row: Mapping[str, Any] | pd.Series) -> Kind:
    """How a column's numbers are written, in a row that may name a metric."""
    metric = str(row.get("metric", ""))
    if column in ("value", "rival_value", "dev") and metric:
        if metric.endswith(" selectivity"):
            return "gain" if metric.partition(" ")[0] in OF_HUNDRED else "change"
        return "points" if metric in OF_HUNDRED else "amount" if metric == "bits" else "share"
    if column in ("difference", "margin", "ahead"):
        return "gain" if metric.partition(" ")[0] in OF_HUNDRED else "change"
    return KINDS.get(column, "share")


def _ends(column: str) -> tuple[str, str]:
    return (f"{column}_low", f"{column}_high") if column in PREFIXED else ("low", "high")


def _float(value: Any) -> float:
    """A cell as a number; NaN where it is missing."""
    import pandas as pd

    return math.nan if value is None or value is pd.NA else float(value)
