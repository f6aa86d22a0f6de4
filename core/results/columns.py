"""Tables of results and their columns: titles, meanings and units, how numbers are written, and
the intervals that belong to them.

All of it stands in columns.toml, a record a column. A test runs every study and looks each of its
columns up.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.results.numbers import Kind
from core.results.words import as_record

if TYPE_CHECKING:
    import pandas as pd

Interval = Literal["", "own", "shared"]


@dataclass(frozen=True)
class Column:
    """What is known of a column of results.

    Attributes:
        meaning: What it is, and its unit; "" where that differs from table to table.
        title: Above it on a page; "" for its name in words.
        kind: How its numbers are written, see `core.results.numbers`.
        interval: Its ends are columns named after it ("own"), or `low` and `high` ("shared").
    """

    meaning: str = ""
    title: str = ""
    kind: Kind = "share"
    interval: Interval = ""


def read_columns(text: str) -> tuple[dict[str, str], dict[str, Column]]:
    """Read titles of tables and records of columns.

    Raises:
        PalimpsestError: If a record has a key or a word that none has.
        ValueError: If it is not TOML.
    """
    read = tomllib.loads(text)
    return read.get("tables", {}), {
        name: as_record(Column, record, f"The column {name}")
        for name, record in read.get("columns", {}).items()
    }


TABLES, COLUMNS = read_columns(Path(__file__).with_suffix(".toml").read_text(encoding="utf8"))


def meaning(table: str, column: str) -> str | None:
    """Look up the meaning of a column of a table; None if it has none."""
    return next((record.meaning for record in _records(table, column) if record.meaning), None)


def title_of(table: str, column: str) -> str:
    """Title of a column on a page; files keep the raw names."""
    titles = (record.title for record in _records(table, column) if record.title)
    return next(titles, in_words(column))


def title_of_table(name: str) -> str:
    """Title of a table on a page."""
    return TABLES.get(name) or in_words(name)


def describe(tables: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, str]]:
    """Map each table to its columns and their meanings, without columns that have none."""
    return {
        name: {
            str(column): text for column in table.columns if (text := meaning(name, str(column)))
        }
        for name, table in tables.items()
    }


def in_words(name: str) -> str:
    """Write a raw name as words: `source_layer` is "Source layer"."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def _records(table: str, column: str) -> list[Column]:
    """What is known of a column: first in its table, then everywhere."""
    return [COLUMNS[name] for name in (f"{table}.{column}", column) if name in COLUMNS]
