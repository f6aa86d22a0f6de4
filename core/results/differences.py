"""Two results of one kind, row by row: the second less the first, with bands that hold together.

The band of a difference is put together from the bands of its two values (MOVER: Zou & Donner 2008, Statistics in
Medicine 27), which takes them as drawn independently: where both saw the same sentences it is wider than it need be.
Bands are widened for the number of differences (Bonferroni, with quantiles of a normal distribution), since whoever
looks at all of them reports the largest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from core.results.estimates import estimate_of
from core.results.names import short_name
from core.results.numbers import Kind

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

LEVEL = 0.95
OF_RSA = ("kernel", "comparison")  # options that other measures do not read


@dataclass(frozen=True)
class Compared:
    """What of a study's result is compared: a table, what names its rows, the value, and how it is written.

    `same` are the options that make the value what it is, with the word for each: results in which one differs are
    not of one measure, one unit or one kind of item, and nothing is subtracted.
    """

    table: str
    keys: tuple[str, ...]
    value: str
    kind: Kind = "change"
    same: Mapping[str, str] = field(default_factory=dict)


COMPARED = {
    "rsa": Compared(
        "similarity", ("model", "layer"), "similarity",
        same={"measure": "measure", "kernel": "kernel", "comparison": "comparison", "items": "items",
              "one_per_word": "one occurrence per word", "standardise": "standardised dimensions",
              "drop_rogue": "rogue dimensions dropped"},
    ),
    "probe": Compared(
        "scores", ("model", "layer", "probe", "metric"), "value", "measure",
        same={"heads": "trees", "pipeline": "parser", "position": "positions beside the vectors"},
    ),
    "align": Compared(
        "methods", ("group", "method", "words"), "nmse", same={"items": "rows", "split": "held out"},
    ),
    "weights": Compared(
        "vectors", ("vector", "k"), "share", same={"label": "label", "labels": "label table", "column": "column"},
    ),
}  # fmt: skip


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


def result_differences(first: Result, second: Result) -> pd.DataFrame:
    """The second result less the first, where they have rows in common; see `banded_differences`.

    Two results with one model each are compared whatever the models are called. The table is empty where the two are
    not comparable.

    Args:
        first, second: Of the same study.
    """
    import pandas as pd

    of = COMPARED[first.study]
    if unlike(first, second):
        return pd.DataFrame(columns=[*of.keys, "difference", "low", "high"])
    left, right = first.tables[of.table], second.tables[of.table]
    models = [set(table["model"]) if "model" in table else set() for table in (left, right)]
    keys = of.keys
    if "model" in keys and not models[0] & models[1] and all(len(names) == 1 for names in models):
        keys = tuple(key for key in keys if key != "model")
    return banded_differences(left, right, keys, of.value)


def unlike(first: Result, second: Result) -> str:
    """Why the values of two results of one study cannot be subtracted; "" where they can."""
    parts = []
    for name, word in COMPARED[first.study].same.items():
        values = [result.spec.get(name) for result in (first, second)]
        if values[0] != values[1] and not (name in OF_RSA and first.spec.get("measure") != "rsa"):
            parts.append(f"{word}: {' and '.join(_said(value) for value in values)}")
    if not parts:
        return ""
    return f"There is no difference to show, because the two measure different things ({'; '.join(parts)})."


def differences_sentence(table: pd.DataFrame, study: str) -> str:
    """What `result_differences` shows: in how many rows the two differ beyond their bands, and where most."""
    if table.empty:
        return "The two have no row in common that could be subtracted; both are shown."
    keys, kind = [name for name in table if name not in ("difference", "low", "high")], COMPARED[study].kind
    banded = table[table["low"].notna()]
    told = banded[(banded["low"] > 0) | (banded["high"] < 0)]
    most = (told if len(told) else banded if len(banded) else table).loc[lambda rows: rows["difference"].abs().idxmax()]
    where = ", ".join(_name(key, most[key]) for key in keys if most[key] == most[key])
    size = estimate_of(most, "difference", kind).direction("higher in the second", "lower in the second")
    if banded.empty:
        return f"The value that differs most is {size} ({where}); these values have no bands."
    count = f"{len(told) or 'None'} of {len(banded)} differences {'are beyond their bands' if len(told) else ''}"
    count = count if len(told) else f"{count.strip()} is beyond its band"
    return f"{count}; the value that differs most is {size} ({where})."


def _said(value: object) -> str:
    """An option's value in a sentence."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if value not in ("", None) else "none"


def _name(key: str, value: object) -> str:
    """A row's name as people say it: layer 3, parse-0, word."""
    if key == "model":
        return short_name(str(value))
    return f"{key} {value:g}" if isinstance(value, (int, float, np.number)) else str(value)


def _together(left: pd.Series[float], right: pd.Series[float]) -> np.ndarray:
    together: np.ndarray = np.hypot(np.maximum(left, 0.0), np.maximum(right, 0.0))
    return together


def _widening(count: int) -> float:
    """How much wider a normal band is that holds for `count` differences together."""
    tail = (1 - LEVEL) / 2
    return NormalDist().inv_cdf(1 - tail / max(1, count)) / NormalDist().inv_cdf(1 - tail)
