"""Every band that is drawn has a simulated coverage, or is a range that claims none."""

from __future__ import annotations

import ast
from functools import cache

import numpy as np
import pytest

from benchmarks import band_kinds, coverage
from core.catalogue import STUDIES
from core.maths import statistics
from core.results.columns import COLUMNS
from core.studies.probes.minimal_pairs.accuracy import grouped_interval, wilson_interval
from tests import ROOT

MAKERS = {
    *("interval", "t_interval", "jackknife_interval", "correlation_interval", "wilson_interval"),
    *(
        "bootstrap_interval",
        "grouped_interval",
        "quantile",
        "nanquantile",
        "percentile",
        "nanpercentile",
    ),
    *("inv_cdf", "stdtrit", "with_interval"),
}  # functions that give the ends of a band
AROUND = {
    *("t_interval", "jackknife_interval", "correlation_interval", "wilson_interval"),
    *("bootstrap_interval", "grouped_interval", "with_interval"),
}  # those whose band holds the estimate that they are given

BANDS = "Not every band covers 95 %."  # the caveat that says which, as benchmarks simulate them


def functions_with_bands() -> dict[str, set[str]]:
    """The functions of `core` and `extras` that call one of MAKERS, and which."""
    return functions_calling(MAKERS)


def functions_calling(makers: set[str]) -> dict[str, set[str]]:
    """The functions of `core` and `extras` that call one of these, and which."""
    return {name: calls & makers for name, calls in called().items() if calls & makers}


@cache
def called() -> dict[str, set[str]]:
    """What each function of `core` and `extras` calls, by the last part of its name."""
    callers: dict[str, set[str]] = {}
    files = [file for top in ("core", "extras") for file in (ROOT / top).rglob("*.py")]
    for file in sorted(files):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(file.read_text(encoding="utf8"))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            calls = (each.func for each in ast.walk(function) if isinstance(each, ast.Call))
            callers[f"{module}.{function.name}"] = {
                each.id if isinstance(each, ast.Name) else getattr(each, "attr", "")
                for each in calls
            }
    return callers


def rows_of_tables() -> dict[str, str]:
    """By file, the text of each committed table."""
    folder = ROOT / "benchmarks"
    return {name: (folder / name).read_text(encoding="utf8") for name in band_kinds.TABLES}


@pytest.mark.slow
def test_every_band_that_core_computes_is_simulated_or_a_range() -> None:
    listed = [*band_kinds.SIMULATED, *band_kinds.RANGES, *band_kinds.UNBANDED]
    assert sorted(listed) == sorted(functions_with_bands())
    assert len(listed) == len(set(listed))


def test_every_band_of_an_estimate_is_made_by_a_function_that_holds_it() -> None:
    callers = functions_with_bands()
    widened = "core.results.differences._widening"  # of bands that hold their estimates
    made = [name for name in band_kinds.SIMULATED if callers[name] - AROUND]
    assert made == [widened]


def test_makers_of_bands_hold_the_estimate_whatever_the_draws() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        point, size = float(rng.normal()), int(rng.integers(2, 40))
        away = rng.normal(rng.normal(), 10 ** rng.uniform(-12, 1), size)
        ends = [
            statistics.bootstrap_interval(point, away),
            statistics.jackknife_interval(point, away),
            statistics.t_interval(point, [away.var(), 1e-30], [size - 1, 1]),
        ]
        share = int(rng.integers(0, size + 1))
        accuracy = wilson_interval(share, size)
        right = (np.arange(size) < share).astype(float)
        grouped = grouped_interval(right, np.arange(size) % int(rng.integers(2, size + 1)))
        assert grouped[0] <= right.mean() <= grouped[1]
        assert all(low <= point <= high for low, high in ends)
        assert accuracy[0] <= share / size <= accuracy[1]


def test_every_simulated_band_has_its_rows_in_a_committed_table() -> None:
    text = "\n".join(rows_of_tables().values())
    for rows in (*band_kinds.SIMULATED.values(), *band_kinds.COLUMNS.values()):
        for row in rows:
            assert any(line.startswith(row) or f" {row} " in line for line in text.splitlines()), (
                row
            )


def test_every_interval_of_the_data_dictionary_has_rows_or_is_a_range() -> None:
    ends = {name.removesuffix("_low") for name in COLUMNS if name.endswith("_low")}
    assert sorted(ends) == sorted([*band_kinds.COLUMNS, *band_kinds.NO_BAND])
    simulated = {row for rows in band_kinds.SIMULATED.values() for row in rows}
    assert {row for rows in band_kinds.COLUMNS.values() for row in rows} <= simulated


def test_every_row_that_misses_95_per_cent_is_named_in_the_docs_and_on_its_page() -> None:
    """A mark in a table of simulated bands is a sentence in the chapter on statistics and a caveat
    of the study that draws the band."""
    page = " ".join((ROOT / "docs" / "statistics.md").read_text(encoding="utf8").split())
    tables = rows_of_tables()
    marked = {
        line for name in tables for line in tables[name].splitlines() if line.endswith((" *", " +"))
    }
    assert len(marked) > 20
    for line in sorted(marked):
        labels = [label for label in band_kinds.LABELS if line.startswith(label.row)]
        assert labels, line
        for label in labels:
            assert label.said in page, line
            for study in label.studies:
                assert label.on_page in STUDIES[study].caveats[BANDS], (study, line)
    for label in band_kinds.LABELS:  # one that says of a row what is so no longer
        kind = label.row.startswith(tuple(coverage.MEASURES))
        assert kind or any(line.startswith(label.row) for line in marked), label.row
