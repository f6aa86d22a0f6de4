"""How a number is written: the same on axes, in tooltips, beside lines, in cells and in sentences about charts.

A share or a similarity has no zero before its point (.25), a negative one a real minus, a share of a hundred a space
before its sign (25 %).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.results.drawing.vega import channel

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["share", "change", "points", "gain", "per cent", "measure", "whole"]
MINUS = "\u2212"
UNKNOWN = "n/a"
BARE = re.compile(rf"^([{MINUS}+]?)0\.")


def text_of(value: float, kind: Kind = "share") -> str:
    """A number as readers see it; "n/a" where there is none.

    Args:
        value: The number; for "per cent" a share of 1.
        kind: "share" (.25), "change" (+.25), "points" (25.1), "gain" (+25.1), "per cent" (25 %), "measure" (three
            digits that count: 0.00123, 45.2, 1,230) or "whole".
    """
    if value != value or value in (math.inf, -math.inf):
        return UNKNOWN
    if kind == "share":
        return BARE.sub(r"\1.", _minus(f"{value:.2f}"))
    if kind == "change":
        return BARE.sub(r"\1.", _minus(f"{value:+.2f}"))
    if kind == "points":
        return _minus(f"{value:.1f}")
    if kind == "gain":
        return _minus(f"{value:+.1f}")
    if kind == "per cent":
        return f"{_minus(f'{100 * value:.0f}')} %"
    if kind == "whole":
        return _minus(f"{value:,.0f}")
    if value and abs(value) < 1e-4:
        return _minus(f"{value:.0e}")
    return _minus(f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}")


def probability(value: float) -> str:
    """A probability with the digits that count and no zero before its point: .079, .0012, 1."""
    return BARE.sub(r"\1.", text_of(value, "measure"))


def label_expr(kind: Kind) -> str | None:
    """The Vega expression that writes an axis' or a legend's numbers of this kind; None where Vega's own will do."""
    if kind == "per cent":
        return "format(100 * datum.value, '.0f') + ' %'"
    bare = f"replace(datum.label, regexp('^([{MINUS}+]?)0[.]'), '$1.')"
    if kind == "share":
        return f"datum.value == 0 ? '0' : {bare}"
    if kind == "change":
        return f"datum.value == 0 ? '0' : (datum.value > 0 ? '+' : '') + {bare}"
    if kind == "gain":
        return "(datum.value > 0 ? '+' : '') + datum.label"
    return None


@dataclass(frozen=True)
class Tip:
    """One line of a tooltip: a column, what it is called, how its numbers are written ("" for text)."""

    column: str
    title: str
    kind: Kind | Literal[""] = ""


def told(table: pd.DataFrame, tips: Sequence[Tip]) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """The table with a column of written numbers for each tip, and the tooltips that show them.

    `low` and `high` become one line, the band.
    """
    written: dict[str, Any] = {}
    shown = []
    for tip in tips:
        if tip.column not in table.columns:
            continue
        if tip.column in ("low", "null_low"):
            top = tip.column.replace("low", "high")
            ends = zip(table[tip.column], table[top], strict=True)
            kind = tip.kind or "share"
            values = [f"{text_of(a, kind)} to {text_of(b, kind)}" if a == a else UNKNOWN for a, b in ends]
        elif tip.kind:
            values = [text_of(float(value), tip.kind) for value in table[tip.column]]
        else:
            values = [str(value) for value in table[tip.column]]
        written[f"told_{tip.column}"] = values
        shown.append(channel(f"told_{tip.column}:N", title=tip.title))
    return table.assign(**written), shown


def _minus(text: str) -> str:
    """A real minus, and none before a zero."""
    if text.startswith("-"):
        return f"{MINUS}{text[1:]}" if any(digit in text for digit in "123456789") else text[1:]
    return text
