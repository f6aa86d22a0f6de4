"""Labels of models from a table: which rows name which models.

A row names a model by its reference, by the part after `zoo:`, `hub:` or `path:`, or by the short
name that tables and figures show.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress

from core.errors import ModelError, SpecError
from core.models.references import parse_ref
from core.results.names import short_names

MODEL_COLUMNS = ("model", "ref", "name")
MOST_ROWS = 10_000
MOST_NAMED = 400  # characters of names that a message repeats


def read_label_table(content: bytes) -> dict[str, dict[str, str]]:
    """Read labels by column and model from a CSV or TSV table with a header and a column `model`.
    Raises SpecError, which says why, if the table cannot be read."""
    (head, names), *rows = _table_rows(content)
    names = [name.strip() for name in names]
    lowered = [name.lower() for name in names]
    twice = next((name for name in lowered if name and lowered.count(name) > 1), None)
    if twice is not None:
        raise SpecError(
            f"Line {head} of the label table names the column {twice[:200]} twice; "
            "keep one, or rename one."
        )
    place = next((lowered.index(name) for name in MODEL_COLUMNS if name in lowered), None)
    if place is None:
        raise SpecError(
            "The label table has no column named model; rename one of its columns: "
            f"{', '.join(names)}."
        )
    columns = [index for index, name in enumerate(names) if index != place and name]
    if not columns:
        raise SpecError(
            "The label columns of the label table have no names; name at least one in the header."
        )
    given: dict[str, list[str]] = {}
    for number, row in rows:
        if len(row) != len(names):
            raise SpecError(
                f"Line {number} of the label table has {len(row)} cells, "
                f"but its header has {len(names)}; correct the line."
            )
        model = row[place].strip()
        cells = [unicodedata.normalize("NFC", row[index]).strip() for index in columns]
        if given.setdefault(model, cells) != cells:
            raise SpecError(_two_labels(model, f", again in line {number}"))
    for model, cells in given.items():  # zoo:parse-0 may also be given as parse-0
        short = model.partition(":")[2]
        if given.get(short, cells) != cells:
            raise SpecError(_two_labels(model, f", as {model[:200]} and as {short[:200]}"))
    return {
        names[index]: {model: cells[number] for model, cells in given.items()}
        for number, index in enumerate(columns)
    }


def match_labels(
    by_model: Mapping[str, str], refs: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Match the rows of a label table to models: label by reference, "" for models without a row,
    and the names of rows that match nothing. Raises SpecError if two rows label one model
    differently.

    Example:
        >>> match_labels({"run1": "parse", "run9": "nli"}, ["path:/runs/run1", "zoo:pos-0"])
        ({'path:/runs/run1': 'parse', 'zoo:pos-0': ''}, ['run9'])
    """
    short, written = short_names(refs), {_resolved(name): name for name in by_model}
    matched: dict[str, str] = {}
    naming: dict[str, str] = {}
    for ref in refs:
        names = dict.fromkeys((ref, ref.split(":", 1)[-1], short[ref], written.get(ref, ref)))
        labels = {name: by_model.get(name) for name in names}
        given = {name: label for name, label in labels.items() if label is not None}
        if len({*given.values()}) > 1:
            raise SpecError(_two_labels(ref, f", as {' and as '.join(given)}"[:MOST_NAMED]))
        naming |= dict.fromkeys(given, ref)
        matched[ref] = next(iter(given.values()), "")
    return matched, [name for name in by_model if name not in naming]


def _resolved(name: str) -> str:
    """Write the reference of a folder as references have it, from the root; other names as they
    are."""
    with suppress(ModelError):
        return str(parse_ref(name)) if name.startswith("path:") else name
    return name


def _two_labels(model: str, where: str) -> str:
    return f"The label table has two rows for {model[:200]} with different labels{where}; keep one."


def _table_rows(content: bytes) -> list[tuple[int, list[str]]]:
    """Read the rows of a table that are not empty, each with its line; the first is the header."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError("The label table is not UTF-8; save it as a CSV file in UTF-8.") from error
    lines = io.StringIO(text, newline=None)  # line ends of every system, a bare CR too, become \n
    header = lines.readline()
    delimiter = "\t" if "\t" in header else ","
    if ";" in header and delimiter not in header:  # as spreadsheets of many countries write it
        raise SpecError(
            "The columns of the label table are separated by semicolons; "
            "separate them by commas or tabs."
        )
    lines.seek(0)
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise SpecError(
            f"Line {reader.line_num} of the label table cannot be read: {error}. "
            "Correct it and retry."
        ) from error
    if len(rows) < 2 or len(rows[0][1]) < 2:
        raise SpecError(
            "The label table is incomplete: it needs a header with a column named model and at "
            "least one label column, and a row for each model."
        )
    if len(rows) > MOST_ROWS:
        raise SpecError(
            f"The label table has {len(rows):,} rows, and {MOST_ROWS:,} are allowed; "
            "upload a shorter one."
        )
    return rows
