"""Tables of a benchmark's Markdown file, as its script wrote them, for the numbers of pages."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pandas as pd

NUMBER = r"[+-]?(?:\d[\d,]*\.?\d*|\.\d+)"
CELL = re.compile(rf"(?P<value>{NUMBER})?\s*(?:\[(?P<low>{NUMBER}), (?P<high>{NUMBER})\])?")
TABLE = re.compile(r"^\|.+\|\n\|[-:| ]+\|\n(?:\|.*\|\n?)*", re.MULTILINE)


@cache
def tables_of(path: Path) -> dict[str, pd.DataFrame]:
    """Read a file's tables: table_1, table_2 and so on.

    A column is named by the words of its head. A cell "5.8 [5.0, 6.6]" is three numbers, in
    columns of the name, of the name with `_low` and with `_high`; a cell that is an interval alone
    belongs to the column before it. Other cells are text.
    """
    tables = TABLE.findall(path.read_text(encoding="utf8"))
    return {f"table_{place}": _read(table) for place, table in enumerate(tables, start=1)}


def _read(table: str) -> pd.DataFrame:
    head, _, *rows = (
        [cell.strip() for cell in line.strip().split("|")[1:-1]] for line in table.splitlines()
    )
    names = [re.sub(r"\W+", "_", title.lower()).strip("_") for title in head]
    return pd.DataFrame([_row(names, cells) for cells in rows])


def _row(names: list[str], cells: list[str]) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    before = ""
    for name, cell in zip(names, cells, strict=True):
        parts = CELL.fullmatch(cell)
        if not cell or parts is None:
            values[name] = cell
            continue
        owner = name if parts["value"] else before
        ends = {f"{owner}_{end}": parts[end] for end in ("low", "high")}
        columns = {owner: parts["value"], **ends}
        values |= {key: float(text.replace(",", "")) for key, text in columns.items() if text}
        before = owner
    return values
