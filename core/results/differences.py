"""Two results of one kind, row by row: the second less the first, with bands that hold together.

The band of a difference is put together from the bands of its two values (MOVER: Zou & Donner 2008, Statistics in
Medicine 27), which takes them as drawn independently: where both saw the same sentences it is wider than it need be.
Bands are widened for the number of differences (Bonferroni, with quantiles of a normal distribution), since whoever
looks at all of them reports the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from core.results.names import short_name
from core.results.numbers import Kind, text_of

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

LEVEL = 0.95


@dataclass(frozen=True)
class Compared:
    """What of a study's result is compared: a table, what names its rows, the value, and how it is written."""

    table: str
    keys: tuple[str, ...]
    value: str
    kind: Kind = "change"


COMPARED = {
    "rsa": Compared("similarity", ("model", "layer"), "similarity"),
    "probe": Compared("scores", ("model", "layer", "probe", "metric"), "value", "measure"),
    "align": Compared("methods", ("group", "method", "words"), "nmse"),
    "weights": Compared("vectors", ("vector", "k"), "share"),
}


def banded_differences(first: pd.DataFrame, second: pd.DataFrame, keys: Sequence[str], value: str) -> pd.DataFrame:
    """The second table's values less the first's, in the rows that both have.

    Args:
        first, second: The keys, the value, and its band `low` and `high`, where there is one.
        keys: Columns that name a row.
        value: Column of the value.

    Returns:
        The keys, difference, low, high (NaN where a value has no band), in the first table's order.
    """
    columns = [*keys, value, "low", "high"]
    one, two = (table.reindex(columns=columns) for table in (first, second))
    pairs = one.merge(two, on=list(keys), suffixes=("", "_second"))
    other, low, high = f"{value}_second", "low_second", "high_second"
    pairs = pairs[pairs[value].notna() & pairs[other].notna()]
    wider = _widening(len(pairs))
    difference = pairs[other] - pairs[value]
    down = _together(pairs[other] - pairs[low], pairs["high"] - pairs[value])
    up = _together(pairs[high] - pairs[other], pairs[value] - pairs["low"])
    found = pairs[list(keys)].assign(difference=difference, low=difference - wider * down, high=difference + wider * up)
    return found.reset_index(drop=True)


def result_differences(first: Result, second: Result) -> pd.DataFrame:
    """The second result less the first, where they have rows in common; see `banded_differences`.

    Two results with one model each are compared whatever the models are called.

    Args:
        first, second: Of the same study.
    """
    of = COMPARED[first.study]
    one, two = first.tables[of.table], second.tables[of.table]
    models = [set(table["model"]) if "model" in table else set() for table in (one, two)]
    keys = of.keys
    if "model" in keys and not models[0] & models[1] and all(len(names) == 1 for names in models):
        keys = tuple(key for key in keys if key != "model")
    return banded_differences(one, two, keys, of.value)


def differences_sentence(table: pd.DataFrame, study: str) -> str:
    """What `result_differences` shows: in how many rows the two differ beyond their bands, and where most."""
    if table.empty:
        return "The two have no row in common that could be subtracted; both are shown."
    keys, kind = [name for name in table if name not in ("difference", "low", "high")], COMPARED[study].kind
    banded = table[table["low"].notna()]
    told = banded[(banded["low"] > 0) | (banded["high"] < 0)]
    most = (told if len(told) else banded if len(banded) else table).loc[lambda rows: rows["difference"].abs().idxmax()]
    where = ", ".join(_name(key, most[key]) for key in keys if most[key] == most[key])
    size = text_of(most["difference"], kind)
    if banded.empty:
        return f"The largest difference is {size} ({where}); these values have no bands."
    band = f"[{text_of(most['low'], kind)}, {text_of(most['high'], kind)}]"
    if told.empty:
        return f"None of {len(banded)} differences is beyond its band; the largest is {size} {band} ({where})."
    return f"{len(told)} of {len(banded)} differences are beyond their bands; the largest is {size} {band} ({where})."


def _name(key: str, value: object) -> str:
    """A row's name as people say it: layer 3, parse-0, word."""
    if key == "model":
        return short_name(str(value))
    return f"{key} {value:g}" if isinstance(value, (int, float, np.number)) else str(value)


def _together(one: pd.Series[float], other: pd.Series[float]) -> np.ndarray:
    together: np.ndarray = np.hypot(np.maximum(one, 0.0), np.maximum(other, 0.0))
    return together


def _widening(count: int) -> float:
    """How much wider a normal band is that holds for `count` differences together."""
    tail = (1 - LEVEL) / 2
    return NormalDist().inv_cdf(1 - tail / max(1, count)) / NormalDist().inv_cdf(1 - tail)
