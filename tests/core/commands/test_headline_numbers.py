"""Every number in a sentence above a figure is found again in the tables of its result, at the
digits stated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.results.numbers import MINUS
from core.studies.rsa.layers.differences import text_differences
from tests.core.commands.test_headlines import shown
from tests.core.shipped import walked

NUMBER = rf"{MINUS}?(?:\d[\d,]*\d|\d)?(?:(?<=\d)\.\d+|\.\d+)?"
BAND = re.compile(rf"({NUMBER})(?: %| points|°| times)? \[({NUMBER}), ({NUMBER})\]")
SINGLE = re.compile(rf"(?<![\w.@-])({MINUS}?\d*\.\d+|{MINUS}?\d+(?= %|°))(?![\w.]*\])")
P_VALUE = re.compile(rf"p (=|<) ({NUMBER})")
RECIPE = re.compile(r"\(rate [\d.]+, \d+ steps\)")  # of the models' cards
P_COLUMNS = ("p_value", "smallest_p", "corrected_p")
FEWEST = 200  # bands and numbers that are looked up, all studies together


def parsed(text: str) -> tuple[float, int]:
    """The number and how many decimals it has."""
    plain = text.replace(MINUS, "-").replace(",", "")
    return float(plain), len(plain.partition(".")[2])


def looked_up(text: str, values: np.ndarray) -> np.ndarray:
    """Which values are written so: themselves, without their sign, or as per cent."""
    number, decimals = parsed(text)
    near = 0.5 * 10**-decimals + 1e-9
    ways = (values, -values, 100 * values, -100 * values)
    return np.any([np.abs(way - number) <= near for way in ways], axis=0)


def tables_of(result: Any) -> dict[str, pd.DataFrame]:
    """The tables of a result, and the difference of its two texts, which is made from one of
    them."""
    domains = result.tables.get("domains")
    more = (
        {}
        if domains is None or domains["corpus"].nunique() < 2
        else {"texts": text_differences(domains)}
    )
    return {**result.tables, **more}


def bands(tables: dict[str, pd.DataFrame]) -> Iterator[np.ndarray]:
    """value, low, high of every row (row, 3), by the column of the value."""
    for table in tables.values():
        numeric = table.select_dtypes("number").astype(float)
        for low in (name for name in numeric if str(name).endswith("low")):
            ends = numeric[[low, str(low).replace("low", "high")]].to_numpy()
            for column in numeric:
                yield np.column_stack([numeric[column], ends])


def is_a_row(match: re.Match[str], bands: Sequence[np.ndarray]) -> bool:
    """Whether a value and its band are one row, the difference as it is or turned round."""
    value, low, high = match.groups()
    for rows in bands:
        straight = (
            looked_up(value, rows[:, 0]) & looked_up(low, rows[:, 1]) & looked_up(high, rows[:, 2])
        )
        turned = (
            looked_up(value, rows[:, 0]) & looked_up(low, rows[:, 2]) & looked_up(high, rows[:, 1])
        )
        if (straight | turned).any():
            return True
    return False


def numbers_of(tables: dict[str, pd.DataFrame]) -> np.ndarray:
    """Every number of the tables, what it leaves of 1, and means over rows that agree in all but
    one name."""
    values = [np.array([0.0])]
    for table in tables.values():
        numeric = table.select_dtypes("number").astype(float)
        values += [numeric.to_numpy().ravel(), 1 - numeric.to_numpy().ravel()]
        for name in (
            n for n in table if n in ("layer", "k") or isinstance(table[n].dtype, pd.StringDtype)
        ):
            values.append(numeric.groupby(table[name]).mean().to_numpy().ravel())
    found = np.concatenate(values)
    return found[np.isfinite(found)]


def p_values(tables: dict[str, pd.DataFrame]) -> np.ndarray:
    """Every p-value of the tables."""
    columns = [
        table[name].astype(float)
        for table in tables.values()
        for name in table
        if name in P_COLUMNS
    ]
    return np.concatenate([np.array([np.nan]), *(column.to_numpy() for column in columns)])


def is_a_p_value(match: re.Match[str], values: np.ndarray) -> bool:
    """Whether some p-value is written so."""
    return bool(
        (values < float(match[2])).any() if match[1] == "<" else looked_up(match[2], values).any()
    )


class Written:
    """What the sentences of a result may say, read from its tables once."""

    def __init__(self, tables: dict[str, pd.DataFrame]) -> None:
        self.bands = [*bands(tables)]
        self.p_values = p_values(tables)
        self.numbers = numbers_of(tables)

    def untraced(self, sentence: str) -> tuple[int, list[str]]:
        """How many numbers a sentence has, and which of them are not in the tables."""
        rest = RECIPE.sub("", sentence)
        traced = {match[0]: is_a_row(match, self.bands) for match in BAND.finditer(rest)}
        rest = BAND.sub("", rest)
        traced |= {match[0]: is_a_p_value(match, self.p_values) for match in P_VALUE.finditer(rest)}
        rest = P_VALUE.sub("", rest)
        traced |= {
            match[0]: bool(looked_up(match[1], self.numbers).any())
            for match in SINGLE.finditer(rest)
        }
        return len(traced), [text for text, there in traced.items() if not there]


@pytest.mark.exhaustive
@pytest.mark.slow
def test_every_number_of_a_headline_is_in_the_tables() -> None:
    seen, wrong = 0, []
    for name, result in walked().results.items():  # test_precomputed tells of what is missing
        written = Written(tables_of(result))
        for sentence in dict.fromkeys([result.headline, *shown(result)]):
            count, missing = written.untraced(sentence)
            seen += count
            wrong += [(name, text, sentence) for text in missing]
    assert wrong == []
    assert seen >= FEWEST


def test_a_number_that_no_table_has_is_seen() -> None:
    rows = pd.DataFrame(
        {"model": ["a"], "value": [57.14], "low": [54.8], "high": [59.3], "p_value": [0.012]}
    )
    written = Written({"scores": rows})
    assert written.untraced("57 % [55, 59], p = .012.") == (2, [])
    assert written.untraced("58 % [55, 59], p = .013.") == (2, ["58 % [55, 59]", "p = .013"])
    assert written.untraced("57 % [55, 60], p < .001; 31 %.") == (
        3,
        ["57 % [55, 60]", "p < .001", "31"],
    )
    turned = pd.DataFrame({"difference": [-5.2], "low": [-8.04], "high": [-2.6]})
    assert Written({"differences": turned}).untraced("5.2 points [2.6, 8.0] below") == (1, [])
