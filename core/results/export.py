"""Results and their files: tables, figures and records, the same from a page and from the command
line.

Every study's `collect` returns `Findings`, of which `Study.result` makes a `Result`: tidy tables,
arrays for charts, a headline, and enough provenance (versions, fingerprints, spec) to run the study
again.
"""

from __future__ import annotations

import io
import json
import platform
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import pandas as pd

from core.errors import DrawingError, PalimpsestWarning, SpecError
from core.results.columns import describe
from core.results.drawing import files as drawn
from core.results.drawing.vega import Chart
from core.results.estimates import Estimate, estimates_of
from core.results.folder import RECORD, former_files, write_folder
from core.results.papers.reference import Reference
from core.results.statements import Statement
from core.runs.encoding import encode
from core.runs.frames import packed

VERSIONED = (
    "torch",
    "transformers",
    "numpy",
    "scipy",
    "scikit-learn",
    "spacy",
    "altair",
    "streamlit",
)
# first characters of a cell that a spreadsheet may take for a formula
FORMULA = ("=", "+", "-", "@", "\t", "\n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NUMBERS = "result.safetensors"  # which `core.results.load` reads beside the record


@dataclass(frozen=True)
class Result:
    """The outcome of a study.

    Attributes:
        study: Its name, the words of its command, such as "weights lineage".
        spec: The options of the study, as plain JSON values.
        headline: What was found, in a few sentences; the first one can stand alone.
        tables: Tidy tables by name; the first is the main one and becomes `table.csv`.
        arrays: Arrays that charts need in addition to the tables.
        notices: Sentences that a reader of the numbers must see.
        caution: A warning that stands before any headline; usually empty.
        statements: What was found: the facts that headline and views are written from.
        failures: Why each task that failed did, by its name.
        provenance: Versions and fingerprints.
        methods: A methods paragraph, ready to paste.
        citations: The papers cited.
    """

    study: str
    spec: dict[str, Any]
    headline: str
    tables: dict[str, pd.DataFrame]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    failures: dict[str, str] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    methods: str = ""
    citations: tuple[Reference, ...] = ()
    caution: str = ""
    statements: tuple[Statement, ...] = ()

    @property
    def table(self) -> pd.DataFrame:
        """The main table."""
        return next(iter(self.tables.values()))

    def cautioned(self, sentence: str = "") -> str:
        """Put the caution, if there is one, before a sentence, without one before the headline."""
        return f"{self.caution} {sentence or self.headline}".strip()

    @property
    def left_out(self) -> list[str]:
        """What failed, and why, in a sentence each."""
        return [f"{name} was left out: {reason}" for name, reason in self.failures.items()]

    @property
    def nbytes(self) -> int:
        """Bytes of the tables and arrays."""
        tables = (table.memory_usage(deep=True).sum() for table in self.tables.values())
        return int(sum(tables) + sum(array.nbytes for array in self.arrays.values()))

    @property
    def sentences_read(self) -> int | None:
        """How many sentences of the text were read; None for a study of weights alone."""
        count: int | None = self.provenance.get("corpus", {}).get("sentences")
        return count

    def estimates(self, column: str, table: str = "") -> list[Estimate]:
        """Read a column with its intervals, row by row.

        Args:
            column: Such as "similarity" or "nmse".
            table: Its table; the first one that has the column where empty.

        Raises:
            SpecError: If no table has it.
        """
        names = [table] if table else list(self.tables)
        for name in names:
            if name in self.tables and column in self.tables[name]:
                return estimates_of(self.tables[name], column)
        raise SpecError(
            f"This result has no column {column!r}{f' in a table {table!r}' if table else ''}: "
            "choose one of its columns."
        )

    def with_tables(self, **tables: pd.DataFrame) -> Self:
        """Return the result with other rows in some of its tables; itself where all have as many.

        Args:
            tables: Rows by the table's name, of tables that the result has.
        """
        if all(len(rows) == len(self.tables[name]) for name, rows in tables.items()):
            return self
        return replace(self, tables={**self.tables, **tables})

    def need(self, name: str, what: str) -> pd.DataFrame:
        """Return a table of the result.

        Args:
            name: Of the table.
            what: The options with which a study makes it.

        Raises:
            SpecError: If the result has no such table, or an empty one.
        """
        if name not in self.tables or self.tables[name].empty:
            raise SpecError(f"This result has no {name}: run the study with {what}.")
        return self.tables[name]


def provenance(model_refs: tuple[str, ...] = (), corpus: Any = None) -> dict[str, Any]:
    """Record the versions of the software and the fingerprints of models and text.

    Args:
        model_refs: References whose weights' fingerprints are recorded.
        corpus: A `core.text.corpora.Corpus`, or None for a study of weights alone.

    Raises:
        ModelError: If a reference cannot be found.
    """
    from core.models import describe

    packages = {name: metadata.version(name) for name in VERSIONED}
    record: dict[str, Any] = {
        "versions": {"python": platform.python_version(), **packages},
        "fingerprints": {str(ref): describe(ref).fingerprint for ref in model_refs},
    }
    if corpus is not None:
        record["corpus"] = {
            "ref": corpus.ref,
            "sentences": len(corpus.sentences),
            "words": sum(len(sentence.words) for sentence in corpus.sentences),
            "fingerprint": corpus.fingerprint,
        }
    return record


def table_csv(table: pd.DataFrame) -> bytes:
    """Write a table as CSV: UTF-8, with a header line, in full precision.

    Text that a spreadsheet would take for a formula (it begins with = + - @, a tab or a line end,
    as some words of a corpus do) gets an apostrophe in front, which spreadsheets read as "this is
    text". Numbers stay numbers.
    """
    written = table.rename(columns=_harmless)
    for place, kind in enumerate(table.dtypes):
        if not (pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_datetime64_any_dtype(kind)):
            written.isetitem(place, [_harmless(cell) for cell in table.iloc[:, place]])
    return cast(bytes, written.to_csv(index=False).encode("utf8"))


def _harmless(cell: Any) -> Any:
    """The cell, with an apostrophe where a spreadsheet would take it for a formula; numbers are
    unchanged."""
    if not isinstance(cell, str):
        return cell
    # a bare \r is not quoted, and would begin a row
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    return cell if not cell.startswith(FORMULA) or NUMBER.fullmatch(cell) else f"'{cell}"


def table_parquet(table: pd.DataFrame) -> bytes:
    """Write a table as Parquet."""
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()


def chart_svg(chart: Chart) -> bytes:
    """Draw a chart as SVG, on white, without a browser."""
    return drawn.svg(drawn.sheet(chart))


def chart_png(chart: Chart) -> bytes:
    """Draw a chart as PNG, on white, at twice the screen's resolution."""
    return drawn.png(drawn.sheet(chart))


class DrawingWarning(PalimpsestWarning):
    """A result has no figures, or not all; its numbers are not affected."""


def draw_figures(figures: Mapping[str, Chart]) -> dict[str, bytes]:
    """Draw charts as SVG, by name; warn where no more can be drawn."""
    made: dict[str, bytes] = {}
    try:
        for name, chart in figures.items():
            made[name] = chart_svg(chart)
    except DrawingError as error:
        warnings.warn(str(error), DrawingWarning, stacklevel=3)
    return made


def result_json(result: Result, files: Sequence[str] = ()) -> bytes:
    """Write spec, headline, statements, notices, failures, provenance, methods, tables and their
    columns as JSON, and the names of the files beside it."""
    record = {
        "study": result.study,
        "spec": result.spec,
        "headline": result.headline,
        "caution": result.caution,
        "statements": [statement.as_record() for statement in result.statements],
        "notices": list(result.notices),
        "failures": result.failures,
        "provenance": result.provenance,
        "methods": result.methods,
        "citations": [reference.line for reference in result.citations],
        "references": [asdict(reference) for reference in result.citations],
        "files": list(files),
        "columns": describe(result.tables),
        "tables": {
            name: json.loads(table.to_json(orient="records"))
            for name, table in result.tables.items()
        },
    }
    return (json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode("utf8")


def result_numbers(result: Result) -> bytes:
    """Write every table with the types of its columns, and every array, as safetensors, without
    loss."""
    value: dict[str, Any] = {"tables": list(result.tables), "arrays": list(result.arrays)}
    for number, table in enumerate(result.tables.values()):
        value |= {f"table {number} {name}": part for name, part in packed(table).items()}
    value |= {
        f"array {number}": np.asarray(array) for number, array in enumerate(result.arrays.values())
    }
    return encode(value)


def write_result(
    result: Result,
    figures: Mapping[str, Chart],
    out: str | Path,
    extra: Mapping[str, bytes] | None = None,
) -> list[Path]:
    """Write `result.json`, `table.csv`, a CSV for each further table, an SVG for each figure, and
    `extra` files; remove those of an earlier result in the folder that this one does not have.

    The first figure is `figure.svg`; the others have their names. `result.safetensors` holds tables
    and arrays for `core.results.load`, which reads the result again. Figures are drawn when all
    else is written; where they cannot be drawn, that is a warning.

    Returns:
        The files written, in order.

    Raises:
        ExportError: If the folder cannot be made or written.
    """
    out = Path(out)
    files = {
        NUMBERS: result_numbers(result),
        **{name: table_csv(table) for name, table in tables_by_file(result).items()},
        **(extra or {}),
    }
    written = _write_with_record(result, files, out)
    drawn_now = draw_figures(figures)
    if not drawn_now:
        return written
    first = next(iter(figures))
    files |= {
        "figure.svg" if name == first else f"{name}.svg": content
        for name, content in drawn_now.items()
    }
    return _write_with_record(result, files, out)


def _write_with_record(result: Result, files: Mapping[str, bytes], out: Path) -> list[Path]:
    record = {RECORD: result_json(result, list(files))}
    return write_folder(out, record | dict(files), former_files(out))


def tables_by_file(result: Result) -> dict[str, pd.DataFrame]:
    """Name the CSV file of every table: the main one is `table.csv`, the others have their
    names."""
    return {
        f"{name if number else 'table'}.csv": table
        for number, (name, table) in enumerate(result.tables.items())
    }
