"""A result as plain values that can be written down and compared: its sentences as they are, its
tables column by column, its figures without their data.

A column of numbers is kept as two sums: of the numbers, and of the numbers with weights from 1 to 2
that depend on the row. They say that a number changed, or that rows changed places; the tables
themselves would be megabytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from core.catalogue import STUDIES
from core.results.columns import describe
from core.results.drawing.context import PAGE
from core.results.drawing.panels import Panels

GOLDEN_RATIO = 0.6180339887498949  # its multiples modulo 1 are weights that repeat for no two rows
# a chart's keys that number its parts anew in each process, or hold what its table holds
PASSING = ("name", "datasets", "data", "views", "usermeta", "config")


def digest(result: Any) -> dict[str, Any]:
    """Digest all that a study says: facts, sentences, tables, views and price."""
    study = STUDIES[result.study]
    spec = study.Spec(**{name: _hashable(value) for name, value in result.spec.items()})
    return {
        "headline": result.headline,
        "caution": result.caution,
        "notices": list(result.notices),
        "methods": result.methods,
        "failures": dict(result.failures),
        "citations": [asdict(paper) for paper in result.citations],
        "statements": [statement.as_record() for statement in result.statements],
        "tables": {name: table_digest(table) for name, table in result.tables.items()},
        "columns": hash_of(describe(result.tables)),
        "arrays": {name: array_digest(array) for name, array in result.arrays.items()},
        "views": {view.name: _view_digest(view, result) for view in study.views},
        "price": _price_digest(study.price(spec)),
    }


def table_digest(table: pd.DataFrame) -> dict[str, Any]:
    """Digest each column: its type and sums, or its type and a hash of its texts."""
    return {str(name): column_digest(table[name]) for name in table.columns}


def column_digest(column: pd.Series) -> list[Any]:
    """Digest one column as [type, rows, missing, sums or hash]."""
    missing = int(column.isna().sum())
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        numbers = column.to_numpy(dtype=float, na_value=np.nan)
        return [str(column.dtype), len(column), missing, *_sums(numbers)]
    return ["text", len(column), missing, hash_of([str(value) for value in column])]


def array_digest(array: np.ndarray) -> list[Any]:
    """Digest an array as [type, shape, sums or hash]."""
    if array.dtype.kind in "fiub":
        return [str(array.dtype), list(array.shape), *_sums(array.astype(float).ravel())]
    return [array.dtype.kind, list(array.shape), hash_of(array.ravel().tolist())]


def hash_of(value: Any) -> str:
    """Hash plain values, regardless of the order of keys."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(one: Any, other: Any, place: str = "", *, tolerance: float = 1e-9) -> Iterable[str]:
    """Name the places where two digests differ; numbers by more than this part of them."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other}):
            where = f"{place}/{name}"
            if name in one and name in other:
                yield from differences(one[name], other[name], where, tolerance=tolerance)
            else:
                yield f"{where}: only in the {'first' if name in one else 'second'}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{place}/{number}", tolerance=tolerance)
    elif isinstance(one, float) and isinstance(other, float | int):
        if not np.isclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True):
            yield f"{place}: {one!r}, {other!r}"
    elif one != other:
        yield f"{place}: {one!r}, {other!r}"


def _sums(numbers: np.ndarray) -> list[float | None]:
    finite = np.where(np.isfinite(numbers), numbers, 0.0)
    weights = 1 + (np.arange(len(finite)) * GOLDEN_RATIO) % 1
    return [float(finite.sum()), float((finite * weights).sum())]


def _view_digest(view: Any, result: Any) -> dict[str, Any]:
    drawn = view.drawing(result)(context=PAGE)
    charts = drawn.charts if isinstance(drawn, Panels) else drawn
    charts = list(charts) if isinstance(charts, list | tuple) else [charts]
    return {
        "headline": view.sentence(result),
        "tables": {name: list(map(str, rows.columns)) for name, rows in view.rows(result).items()},
        "charts": [hash_of(_without_data(_as_dict(chart))) for chart in charts],
    }


def _as_dict(chart: Any) -> Any:
    return chart if isinstance(chart, Mapping) else chart.to_dict()


def _without_data(part: Any) -> Any:
    if isinstance(part, Mapping):
        return {key: _without_data(value) for key, value in part.items() if key not in PASSING}
    return [_without_data(item) for item in part] if isinstance(part, list) else part


def _price_digest(price: Any) -> dict[str, Any]:
    """Digest a price but for the seconds by the clock, which ask this machine for its speed."""
    values = asdict(price)
    return {name: values[name] for name in ("memory", "download", "store", "work", "processor")}


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
