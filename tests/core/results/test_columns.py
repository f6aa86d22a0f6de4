"""Every column of every table that a study exports has one line in the data dictionary."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.errors import PalimpsestError
from core.results import columns
from core.results.columns import (
    COLUMNS,
    TABLES,
    describe,
    meaning,
    read_columns,
    title_of,
    title_of_table,
)
from tests.cases import exhaustive
from tests.core.results.statements import contradictions, false_statements

BESIDE: dict[str, dict[str, Any]] = {
    "probe": {
        "sentences": 60,
        "epochs": 1,
        "draws": 20,
        "seeds": 1,
        "controls": 1,
        "layers": (0, 6),
        "sweep": True,
    },
    "weights": {"permutations": 100, "of": "both"},
}


def undescribed(tables: dict[str, Any]) -> list[str]:
    return [
        f"{name}.{column}"
        for name, table in tables.items()
        for column in table.columns
        if not meaning(name, column)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("study", exhaustive(BESIDE, "weights"))
def test_every_column_that_no_answer_has_is_explained(study: str) -> None:
    """What came with the box is gone through beside its other tests, in
    core/commands/test_precomputed.py."""
    result = STUDIES[study].run(STUDIES[study].Spec(**BESIDE[study]))
    assert len(result.table)
    assert undescribed(result.tables) == []
    assert set(describe(result.tables)) == set(result.tables)
    assert false_statements(result.tables.items()) == []


@pytest.mark.parametrize(
    ("column", "values", "text", "so"),
    [
        ("rival_layer", [0.0, None], "the rival's layer; 0 where it has none", False),
        ("share", [0.2, 57.0], "share of nearest neighbours with the same label", False),
        ("metric", ["root"], "the score: root_accuracy (per cent)", False),
        ("metric", ["root"], "the score: root (per cent)", True),
        ("rival", ["random:zoo:a"], "position only, or an untrained model", False),
        (
            "rival",
            ["random:zoo:a", "position only"],
            "position only, or the reference of an untrained model",
            True,
        ),
        ("low", [0.1], "upper end of the 95 % band of the value", False),
        ("clear", [True], "how clear it is", False),
        ("direction", [0, 1], "number of the direction, from 1", False),
        ("similarity", [1.2], "similarity (no unit; 1 for equal spaces)", False),
    ],
)
def test_a_false_statement_is_seen(column: str, values: list[Any], text: str, so: bool) -> None:
    assert (contradictions("any", pd.DataFrame({column: values}), column, text) == []) is so


def test_a_column_may_mean_something_of_its_own_in_a_table() -> None:
    assert meaning("ranks", "rank") != meaning("scores", "rank")
    assert meaning("any", "no such column") is None
    assert all("\n" not in column.meaning for column in COLUMNS.values())


@pytest.mark.parametrize("name", [name for name, column in COLUMNS.items() if column.meaning])
def test_a_title_reads_as_words(name: str) -> None:
    table, _, column = name.rpartition(".")
    title = title_of(table, column)
    assert "_" not in title
    assert title[0].isupper() or title.startswith("p-value")
    assert len(title) <= 40  # above a column


def test_every_record_is_of_a_column_that_a_table_has() -> None:
    inside = {name.rpartition(".")[2] for name, column in COLUMNS.items() if column.meaning}
    assert {name for name in COLUMNS if name.rpartition(".")[2] not in inside} == set()


def test_titles_of_tables_read_as_words() -> None:
    assert title_of_table("head_matrix") == TABLES["head_matrix"]
    assert title_of_table("new_table") == "New table"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[columns]\na = { meanings = "x" }',
            "The column a has 'meanings'; there are meaning, title, kind",
        ),
        (
            '[columns]\na = { kind = "percent" }',
            "The column a: kind is 'percent'; there are 'share'",
        ),
        ('[columns]\na = { interval = "mine" }', "The column a: interval is 'mine'; there are ''"),
    ],
)
def test_a_record_with_a_slip_is_refused(text: str, words: str) -> None:
    with pytest.raises(PalimpsestError, match=words):
        read_columns(text)


def test_a_column_has_one_record() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        read_columns("[columns]\na = {}\na = {}")


def test_a_column_has_one_record_and_no_record_says_what_another_does() -> None:
    file = Path(columns.__file__).with_suffix(".toml")
    records = tomllib.loads(file.read_text(encoding="utf8"))["columns"]
    names = [name for together in records for name in together.split()]
    assert len(names) == len(set(names)) == len(COLUMNS)
    said = [tuple(sorted(record.items())) for record in records.values() if record.get("meaning")]
    assert [record for record, times in Counter(said).items() if times > 1] == []
