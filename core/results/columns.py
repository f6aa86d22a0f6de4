"""Tables of results and their columns: titles, meanings and units, how numbers are written, the
intervals that belong to them, and what tooltips say.

All of it stands in columns.toml, a record a column. A test runs every study and looks each of its
columns up.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from core.results.drawing.vega import channel
from core.results.numbers import Kind, ends_text, text_of
from core.results.words import as_record


@dataclass(frozen=True)
class Column:
    """What is known of a column of results.

    Attributes:
        meaning: What it is, and its unit; "" where that differs from table to table.
        title: Above it on a page; "" for its name in words.
        kind: How its numbers are written, see `core.results.numbers`.
        interval: Its ends are columns named after it ("own"), or `low` and `high` ("shared").
        tip: In tooltips; "" for its title. The lower end of an interval stands there for both.
    """

    meaning: str = ""
    title: str = ""
    kind: Kind = "share"
    interval: Literal["", "own", "shared"] = ""
    tip: str = ""


@dataclass(frozen=True)
class Tip:
    """One line of a tooltip that no record of a column gives: a field of the figure alone, or one
    whose title or kind of number depends on what is drawn ("" for text)."""

    column: str
    title: str
    kind: Kind | Literal[""] = ""


def read_columns(text: str) -> tuple[dict[str, str], dict[str, Column]]:
    """Read titles of tables and records of columns; a record of several columns names them all.
    Raises PalimpsestError if a record has a key or a word that none has; ValueError if it is not
    TOML."""
    read = tomllib.loads(text)
    return read.get("tables", {}), {
        name: as_record(Column, record, f"The column {name}")
        for names, record in read.get("columns", {}).items()
        for name in names.split()
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


def ends_of(column: str) -> tuple[str, str]:
    """Name the columns that hold the ends of a column's interval, if a table has them."""
    if COLUMNS.get(column, Column()).interval == "own":
        return f"{column}_low", f"{column}_high"
    return "low", "high"


def tip_of(name: str) -> Tip:
    """Make the line of a tooltip from a column's record.

    Args:
        name: Of the column, or "TABLE.NAME" where it means something else in a table.
    """
    table, _, column = name.rpartition(".")
    records = _records(table, column)
    title = next((record.tip for record in records if record.tip), "") or title_of(table, column)
    kinds: list[Kind] = [record.kind for record in records if record.kind != "share"]
    return Tip(column, title, kinds[0] if kinds else "share")


def with_tooltips(
    table: pd.DataFrame, tips: Sequence[Tip | str]
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Add a column of words for each line of a tooltip, and make the tooltips that show them.

    `low` and `high`, and `null_low` and `null_high`, become one line, the interval.

    Args:
        table: Of the marks.
        tips: Columns, of which their records say the rest; those that the table lacks are left out.
            An interval is written as the number before it.
    """
    written: dict[str, Any] = {}
    shown = []
    kind: Kind = "share"
    for given in tips:
        tip = tip_of(given) if isinstance(given, str) else given
        if tip.column not in table.columns:
            continue
        values = table[tip.column].infer_objects()
        if tip.column in ("low", "null_low"):
            ends = zip(values, table[tip.column.replace("low", "high")], strict=True)
            form = kind if tip is not given else tip.kind or "share"
            words = [ends_text(low, high, form) for low, high in ends]
        elif tip.kind and values.dtype.kind in "iuf":
            kind = tip.kind
            words = [text_of(value, kind) for value in values.astype("Float64").astype(float)]
        else:
            words = [str(value) for value in values]
        written[f"told_{tip.column}"] = words
        shown.append(channel(f"told_{tip.column}:N", title=tip.title))
    return table.assign(**written), shown


def _records(table: str, column: str) -> list[Column]:
    """What is known of a column: first in its table, then everywhere."""
    return [COLUMNS[name] for name in (f"{table}.{column}", column) if name in COLUMNS]
