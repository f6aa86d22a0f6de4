"""Every p-value that is shown has a simulated validity, and the quickest are simulated here."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks import validity
from core.results.columns import COLUMNS
from tests import ROOT
from tests.core.test_bands import functions_calling

MAKERS = {
    *("permutation_p", "direction_p_values", "lowest_p", "correlation_p"),
    *("random_root_chances", "corrected", "layers_log_p"),
}  # functions that give a p-value, or correct one
P_VALUE = re.compile(r"(^|[._])p(_values?)?$")
QUICK = (  # cases of some milliseconds a sample
    *("weight neighbours, 18 models of 6 labels", "rank correlation, 7 models"),
    *("token map, 3 words of 60", "intruders beside the same spectrum, full rank"),
)
SAMPLES = 80
BY_NAME = {case.name: case for case in validity.CASES}


def test_every_column_of_p_values_is_simulated_or_a_bound() -> None:
    columns = [
        name
        for name, meaning in ((name, column.meaning) for name, column in COLUMNS.items())
        if P_VALUE.search(name) or re.search(r"\bp-value", meaning)
    ]
    simulated = {column for case in validity.CASES for column in case.columns}
    assert simulated.isdisjoint(validity.BOUNDS)
    assert sorted(columns) == sorted(simulated | set(validity.BOUNDS))


def test_every_function_that_computes_a_p_value_is_listed_with_a_simulated_column() -> None:
    assert sorted(validity.MADE_IN) == sorted(functions_calling(MAKERS))
    listed = {column for columns in validity.MADE_IN.values() for column in columns}
    simulated = {column for case in validity.CASES for column in case.columns}
    assert listed <= simulated


def test_the_committed_table_has_a_valid_or_explained_row_for_every_case() -> None:
    text = (ROOT / "benchmarks" / "validity.txt").read_text(encoding="utf8")
    rows = [line for line in text.splitlines() if "[" in line]
    assert [line[:47].rstrip() for line in rows] == [case.name for case in validity.CASES]
    assert f"{validity.REPLICATES} samples" in text
    for case, line in zip(validity.CASES, rows, strict=True):
        assert f"{case.name:<47}{case.null:<48}" in line
        share = float(line[95:].split()[0])
        said = validity.verdict(case, share)
        assert line.endswith(said)
        assert said == "valid" or (case.few and said == f"conservative, {case.few}"), line


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_p_values_hold_their_level_where_the_null_hypothesis_holds(name: str) -> None:
    """Neither too often below .05 nor never; a share of .05 is above .15 once in 10,000."""
    assert 0 < validity.share_below(BY_NAME[name], SAMPLES) <= 0.15


def test_a_verdict_says_when_there_are_too_many() -> None:
    case = BY_NAME[QUICK[0]]
    assert validity.verdict(case, 0.071) == "* too many"
    assert np.isclose(validity.HELD, (0.03, 0.07)).all()
