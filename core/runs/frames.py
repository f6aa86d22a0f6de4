"""Tables as stored values and back, with the exact type of each column.

A column of numbers or truth values is an array; text, and numbers of which some are missing, are
JSON. Parquet takes no column that holds text beside numbers, and results that users have stored are
in this form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.maths.arrays import Value
from core.runs.encoding import DTYPES

COLUMNS, INDEX = "columns", "index"


def packed(table: pd.DataFrame) -> Value:
    """Turn a table whose columns and row labels are JSON into a value that `encode` takes."""
    names = [
        [_plain(name), str(kind)] for name, kind in zip(table.columns, table.dtypes, strict=True)
    ]
    value: Value = {COLUMNS: names}
    if not table.index.equals(pd.RangeIndex(len(table))):
        value[INDEX] = [_plain(label) for label in table.index]
    else:
        value[INDEX] = len(table)
    for place, (_, kind) in enumerate(names):
        column = table.iloc[:, place]
        value[str(place)] = column.to_numpy(copy=True) if kind in DTYPES else _cells(column, kind)
    return value


def unpacked(value: Value) -> pd.DataFrame:
    """Restore the table from the value that `packed` made. Raises ValueError, TypeError or KeyError
    if it is no table's."""
    rows = value[INDEX]
    index = pd.RangeIndex(rows) if isinstance(rows, int) else pd.Index(rows)
    columns = [
        pd.Series(value[str(place)], index, kind) for place, (_, kind) in enumerate(value[COLUMNS])
    ]
    table = pd.DataFrame(dict(enumerate(columns)), index)
    table.columns = pd.Index([name for name, _ in value[COLUMNS]])
    return table


def _cells(column: pd.Series, kind: str) -> list[Any]:
    """Turn cells into JSON; missing ones into None, except in columns of objects."""
    if kind == "object":
        return [_plain(cell) for cell in column]
    return [
        None if gone else _plain(cell) for cell, gone in zip(column, column.isna(), strict=True)
    ]


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell
