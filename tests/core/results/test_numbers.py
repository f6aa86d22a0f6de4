"""One formatter: a table of numbers and of how readers see them."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from core.results.estimates import Estimate, estimate_of, estimates_of
from core.results.numbers import Kind, ends_text, text_of

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (0.614, "share", ".61"), (-0.02, "share", "−.02"), (0.999, "share", "1.00"), (-0.0001, "share", ".00"),
        (NAN, "share", "n/a"), (math.inf, "share", "n/a"), (2.59, "share", "2.59"),
        (0.25, "change", "+.25"), (-0.0346, "change", "−.035"), (0.00321, "change", "+.0032"), (0, "change", ".00"),
        (57.1, "points", "57"), (5.21, "points", "5.2"), (9.96, "points", "10"), (100, "points", "100"),
        (5.21, "gain", "+5.2"), (-21.5, "gain", "−22"), (0.034, "gain", "+0.0"),
        (0.568, "per cent", "57 %"), (0.0521, "per cent", "5.2 %"), (1.0, "per cent", "100 %"), (0, "per cent", "0 %"),
        (0.9, "setting", "90 %"), (0.995, "setting", "99.5 %"),
        (8.69, "amount", "8.7"), (12.8, "amount", "13"), (0.00123, "amount", "0.0012"), (2, "amount", "2.0"),
        (0, "amount", "0"), (128.4, "amount", "128"),
        (1234.5, "measure", "1,234"), (0.00123, "measure", "0.00123"), (1e-7, "measure", "1e−07"),
        (1234567, "whole", "1,234,567"),
        (0.0004, "p", "p < .001"), (0.03, "p", "p = .03"), (0.0124, "p", "p = .012"), (0.256, "p", "p = .26"),
        (1.0, "p", "p = 1"), (0.001, "p", "p = .001"),
        (0.00123, "probability", ".0012"), (0.5, "probability", ".50"),
        (12.3, "seconds", "12 s"), (1.23, "seconds", "1.2 s"), (120, "seconds", "2 min"),
    ],
)  # fmt: skip
def test_a_number_as_readers_see_it(value: float, kind: Kind, text: str) -> None:
    assert text_of(value, kind) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "kind", "text"),
    [
        (57.1, 54.8, 59.3, "points", "57 % [55, 59]"),
        (0.29, 0.27, 0.31, "share", ".29 [.27, .31]"),
        (0.01, -0.01, 0.03, "share", ".01 [−.01, .03]"),
        (0.568, 0.548, 0.593, "per cent", "57 % [55, 59]"),
        (9.5, 8.1, 11.0, "points", "9.5 % [8.1, 11.0]"),
        (0.3, -1.2, 1.8, "gain", "0.3 points [−1.2, 1.8]"),
        (0.001, -0.05, 0.05, "change", ".001 [−.050, .050]"),
        (0.29, NAN, NAN, "share", ".29"),
        (0.03, NAN, NAN, "p", "p = .03"),
        (0.0421, 0.0312, 0.0529, "probability", ".042 [.031, .053]"),
        (NAN, NAN, NAN, "share", "n/a"),
    ],
)
def test_a_value_and_its_band_have_the_same_decimals(
    value: float, low: float, high: float, kind: Kind, text: str
) -> None:
    assert Estimate(value, low, high, kind=kind).text == text


@pytest.mark.parametrize(
    ("value", "low", "high", "kind", "text"),
    [
        (5.21, 2.6, 8.04, "gain", "5.2 points [2.6, 8.0] above the untrained model"),
        (-5.21, -8.04, -2.6, "gain", "5.2 points [2.6, 8.0] below the untrained model"),
        (-0.3, -1.8, 1.2, "gain", "0.3 points [−1.2, 1.8] below the untrained model"),
        (-0.069, -0.079, -0.059, "change", ".069 [.059, .079] below the untrained model"),
    ],
)
def test_a_difference_has_a_direction_and_no_sign(
    value: float, low: float, high: float, kind: Kind, text: str
) -> None:
    difference = Estimate(value, low, high, kind=kind)
    assert difference.direction("above the untrained model", "below the untrained model") == text


def test_a_difference_is_clear_where_its_band_leaves_out_0() -> None:
    assert Estimate(5.0, 2.0, 8.0).clear
    assert Estimate(-5.0, -8.0, -2.0).clear
    assert not Estimate(5.0, -2.0, 8.0).clear
    assert not Estimate(5.0).clear


def test_a_band_alone() -> None:
    assert ends_text(0.1, 0.25) == ".10 to .25"
    assert ends_text(NAN, 0.25) == "n/a"


def test_a_row_says_how_its_number_is_written() -> None:
    row = {"metric": "uuas", "value": 57.1, "low": 54.8, "high": 59.3, "level": 0.99}
    assert estimate_of(row, "value") == Estimate(57.1, 54.8, 59.3, 0.99, "points")
    assert estimate_of({**row, "metric": "dspr"}, "value").kind == "share"
    assert estimate_of({**row, "metric": "uuas selectivity"}, "value").kind == "gain"
    assert estimate_of({**row, "difference": 5.2}, "difference").kind == "gain"


def test_a_band_belongs_to_one_column_of_a_table() -> None:
    table = pd.DataFrame(
        {
            "score": [0.8],
            "low": [0.7],
            "high": [0.9],
            "loss": [0.1],
            "loss_low": [0.0],
            "kept": [0.5],
        }
    )
    assert estimates_of(table, "score") == [Estimate(0.8, 0.7, 0.9)]
    loss = estimates_of(table.assign(loss_high=0.2), "loss")
    assert loss == [Estimate(0.1, 0.0, 0.2)]
    assert math.isnan(estimates_of(table, "kept")[0].low)
    assert math.isnan(estimate_of(table.iloc[0], "kept").low)
    probed = {"value": 57.0, "low": 55.0, "high": 59.0, "dev": 56.0, "metric": "uuas"}
    assert estimate_of(probed, "value").low == 55.0
    assert math.isnan(estimate_of(probed, "dev").low), "an interval of the test sentences"
    missing = pd.DataFrame({"rank": pd.array([3, None], dtype="Int64")})
    assert [estimate.text for estimate in estimates_of(missing, "rank")] == ["3", "n/a"]
