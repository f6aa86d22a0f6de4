"""Words for tables: every column of the dictionary has a label that reads as words, every table a
title."""

from __future__ import annotations

import pytest

from core.results.columns import COLUMNS, meaning
from core.results.table_words import LABELS, TITLES, label_of, title_of_table


@pytest.mark.parametrize("name", COLUMNS)
def test_a_label_reads_as_words(name: str) -> None:
    table, _, column = name.rpartition(".")
    label = label_of(table, column)
    assert "_" not in label
    assert label[0].isupper() or label.startswith("p-value")
    assert len(label) <= 40  # above a column


def test_no_label_is_of_a_column_that_no_table_has() -> None:
    assert all(meaning(*name.rpartition(".")[::2]) for name in LABELS)


def test_titles_read_as_words() -> None:
    assert title_of_table("head_matrix") == TITLES["head_matrix"]
    assert title_of_table("new_table") == "New table"
