"""Results that were written, read again: what `core.results.export.write_result` wrote, equal to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.errors import PalimpsestError
from core.results.export import NUMBERS, RECORD, Result
from core.results.papers.reference import Reference
from core.results.statements import Statement
from core.runs.encoding import decode
from core.runs.frames import unpacked

LARGEST = 2**30  # bytes of a file that is read


class ReadError(PalimpsestError):
    """A folder holds no result, or a damaged one."""


def load(folder: str | Path) -> Result:
    """The result that was written to a folder: tables, arrays, spec, sentences, provenance and references.

    Nothing in the folder is run: it is JSON and safetensors.

    Args:
        folder: What `--out` named.

    Raises:
        ReadError: If the folder holds no result, a damaged one, or one of another version of the program.
    """
    folder = Path(folder)
    record = _read(folder, RECORD)
    numbers = _read(folder, NUMBERS)
    try:
        return _result(json.loads(record), decode(numbers))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ReadError(
            f"The result in {folder} is damaged or was written by another version: run the study again with --out."
        ) from error


def _read(folder: Path, name: str) -> bytes:
    try:
        if (folder / name).stat().st_size > LARGEST:
            raise ReadError(f"{folder / name} is larger than any result: name a folder that a study wrote.")
        return (folder / name).read_bytes()
    except OSError as error:
        raise ReadError(f"{folder} holds no {name}: name a folder that a study wrote with --out.") from error


def _result(record: dict[str, Any], numbers: dict[str, Any]) -> Result:
    tables = {}
    for number, name in enumerate(numbers["tables"]):
        start = f"table {number} "
        tables[name] = unpacked(
            {key.removeprefix(start): part for key, part in numbers.items() if key.startswith(start)}
        )
    if [[name, len(table)] for name, table in tables.items()] != [
        [name, len(rows)] for name, rows in record["tables"].items()
    ]:
        raise ValueError("the tables are of another result")
    references = [Reference(**(fields | {"authors": tuple(fields["authors"])})) for fields in record["references"]]
    texts = {name: record[name] for name in ("study", "headline", "methods", "caution")}
    mappings = {name: record[name] for name in ("spec", "failures", "provenance")}
    if any(not isinstance(text, str) for text in texts.values()) or not isinstance(record["notices"], list):
        raise TypeError("a sentence is no text")
    if any(not isinstance(mapping, dict) for mapping in mappings.values()):
        raise TypeError("an option has no name")
    return Result(
        **texts,
        **mappings,
        tables=tables,
        arrays={name: numbers[f"array {number}"] for number, name in enumerate(numbers["arrays"])},
        notices=tuple(record["notices"]),
        citations=tuple(references),
        statements=tuple(Statement.from_record(statement) for statement in record.get("statements", [])),
    )
