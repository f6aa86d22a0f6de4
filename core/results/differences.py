"""Differences between two results of the same study, row by row, with simultaneous intervals.

The interval of a difference is made from the intervals of its two values (MOVER: Zou & Donner 2008,
Statistics in Medicine 27), taken as independent: where both results use the same sentences it is
wider than necessary. Intervals are corrected for the number of differences (Bonferroni, with normal
quantiles), because a reader looks for the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd

from core.results.estimates import estimate_of
from core.results.export import Result
from core.results.names import short_name
from core.results.numbers import Kind

LEVEL = 0.95


@dataclass(frozen=True)
class ComparedTable:
    """What is compared of a study's results: a table, the columns that identify its rows, the value
    and its format."""

    table: str
    keys: tuple[str, ...]
    value: str
    kind: Kind = "change"


def banded_differences(
    first: pd.DataFrame, second: pd.DataFrame, keys: Sequence[str], value: str
) -> pd.DataFrame:
    """Subtract the first table's values from the second's, in the rows that both have.

    Args:
        first, second: The keys, the value, and its interval `low` and `high`, where there is one.
        keys: Columns that identify a row.
        value: Column of the value.

    Returns:
        The keys, difference, low, high (NaN where a value has no interval), in the first table's
        order.
    """
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
