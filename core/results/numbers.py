"""The format of numbers, the same on axes, in tooltips, in labels, in cells and in sentences.

A share or a similarity has no zero before its point (.25), a negative number a real minus sign, a
percentage a space before its sign (25 %). Sentences and figures give two significant digits; a
value and its interval have the same number of decimals.
"""

from __future__ import annotations

import math
import re
from typing import Literal

Kind = Literal[
    "share",  # .25
    "change",  # +.25, +.034
    "points",  # 57, 5.2: percentage points
    "gain",  # +5.2: percentage points, too
    "per cent",  # 25 %, of a share of 1
    "setting",  # 99.5 %, of a share of 1 that a user chose, with all its digits
    "amount",  # two significant digits: 8.7, 0.0012, 1,234
    "measure",  # three: 8.69, 0.00123, 1,230
    "whole",  # 1,234
    "p",  # p = .012, p < .001
    "probability",  # .0012
    "seconds",  # 12 s, 2 min
    "degrees",  # 41°
]
MINUS = "\u2212"
UNKNOWN = "n/a"
BARE = re.compile(rf"^([{MINUS}+]?)0\.")
NO_ZERO = ("share", "change", "probability")  # written without a zero before the point
SIGNED = ("change", "gain")
TENTHS = ("points", "gain", "per cent", "seconds", "degrees")  # written with at most one decimal
UNITS: dict[str, str] = {
    "per cent": " %",
    "points": " %",
    "gain": " points",
    "seconds": " s",
    "degrees": "°",
}
LEAST_P = 0.001
LONG = 99.5  # seconds from which minutes are written


def text_of(value: float, kind: Kind = "share") -> str:
    """Format a number as the comments at `Kind` show; "n/a" where there is none."""
    if not math.isfinite(value):
        return UNKNOWN
    if kind == "p":
        return f"p < {_bare(str(LEAST_P))}" if value < LEAST_P else f"p = {_p_digits(value)}"
    if kind == "setting":
        return f"{100 * value:.4g} %"
    if kind == "seconds" and value >= LONG:
        return f"{value / 60:.0f} min"
    sign = "+" if kind in SIGNED and value > 0 else ""
    unit = UNITS[kind] if kind in ("per cent", "seconds", "degrees") else ""
    return sign + _number(value, kind, _decimals(value, kind)) + unit


def band_text(value: float, low: float, high: float, kind: Kind = "share") -> str:
    """Format a value with its unit and its interval, to the same decimals: ".29 [.27, .31]", "57 %
    [55, 59]"; without the interval where its ends are NaN."""
    if not math.isfinite(value):
        return UNKNOWN
    if kind == "p":
        return text_of(value, kind)
    banded = math.isfinite(low) and math.isfinite(high)
    decimals = _decimals(max(abs(value), (high - low) / 2 if banded else 0.0), kind)
    text = _number(value, kind, decimals) + UNITS.get(kind, "")
    return (
        f"{text} [{_number(low, kind, decimals)}, {_number(high, kind, decimals)}]"
        if banded
        else text
    )


def ends_text(low: float, high: float, kind: Kind = "share") -> str:
    """Format an interval alone, for tooltips: ".27 to .31"."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return UNKNOWN
    return f"{text_of(low, kind)} to {text_of(high, kind)}"


def _decimals(value: float, kind: Kind) -> int:
    """The number of decimals for a number of this size."""
    if kind in ("share", "whole"):
        return 2 if kind == "share" else 0
    scaled = abs(100 * value if kind == "per cent" else value)
    digits = 3 if kind == "measure" else 2
    power = int(f"{scaled:.{digits - 1}e}".partition("e")[2]) if scaled else digits - 1
    wanted = max(0, digits - 1 - power)
    if kind in TENTHS:
        return min(wanted, 1)
    return min(max(wanted, 2), 4) if kind == "change" else wanted


def _number(value: float, kind: Kind, decimals: int) -> str:
    """The digits with a real minus sign, without one before a zero."""
    scaled = 100 * value if kind == "per cent" else value
    if kind in ("measure", "amount") and value and abs(value) < 1e-4:
        return _minus(f"{value:.0e}").replace("e-", f"e{MINUS}")
    if kind == "measure" and abs(value) < 1000:
        return _minus(f"{value:.3g}")
    text = _minus(f"{scaled:,.{decimals}f}")
    return _bare(text) if kind in NO_ZERO else text


def _p_digits(value: float) -> str:
    text = f"{value:.{3 if value < 0.1 else 2}f}".rstrip("0")
    return _bare(text.removesuffix("."))


def _bare(text: str) -> str:
    """A number without the zero before its point."""
    return BARE.sub(r"\1.", text)


def labels_of(kind: Kind) -> dict[str, str]:
    """The part of an axis or a legend that formats its numbers; empty where Vega's default is
    right."""
    bare = f"replace(datum.label, regexp('^([{MINUS}+]?)0[.]'), '$1.')"
    written: dict[Kind, str] = {
        "per cent": "format(100 * datum.value, '.0f') + ' %'",
        "share": f"datum.value == 0 ? '0' : {bare}",
        "change": f"datum.value == 0 ? '0' : (datum.value > 0 ? '+' : '') + {bare}",
        "degrees": "datum.label + '°'",
        "gain": "(datum.value > 0 ? '+' : '') + datum.label",
    }
    return {"labelExpr": written[kind]} if kind in written else {}


def _minus(text: str) -> str:
    """A real minus sign, and none before a zero."""
    if text.startswith("-"):
        return f"{MINUS}{text[1:]}" if any(digit in text for digit in "123456789") else text[1:]
    return text
