"""Results read from a folder, exactly as `core.results.export.write_result` wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from core.errors import PalimpsestError
from core.results.export import NUMBERS, Result
from core.results.folder import RECORD
from core.results.papers.reference import Reference
from core.results.statements import Statement
from core.runs.encoding import decode
from core.runs.frames import unpacked

LARGEST = 2**30  # bytes of the largest file that is read


class ReadError(PalimpsestError):
    """A folder without a result, or with a damaged one."""


def load(folder: str | Path) -> Result:
    """Read the result that was written to a folder by `--out`, from JSON and safetensors, so that
    reading runs no code. Raises ReadError if the folder has no result, a damaged one, or one of
    another version of the program."""
    folder = Path(folder)
    record = _read(folder, RECORD)
    numbers = _read(folder, NUMBERS)
    try:
        result: Result = read_result(json.loads(record), decode(numbers))
        return result
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ReadError(
            f"The result in {folder} is damaged or was written by another version: "
            "run the study again with --out."
        ) from error


def _read(folder: Path, name: str) -> bytes:
    try:
        if (folder / name).stat().st_size > LARGEST:
            raise ReadError(
                f"{folder / name} is too large for a result: "
                "choose a folder that a study has written."
            )
        return (folder / name).read_bytes()
    except OSError as error:
        raise ReadError(
            f"{folder} has no {name}: choose a folder that a study has written with --out."
        ) from error


def read_result(record: dict[str, Any], numbers: dict[str, Any], kind: type[Any] = Result) -> Any:
    """Make a result of its record and its numbers.

    Args:
        record: Of `core.results.export.result_json`.
        numbers: Of `core.results.export.result_numbers`, decoded.
        kind: What to make, where a study's results are more than a `Result`.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: If they are no result's.
    """
    tables = {}
    for number, name in enumerate(numbers["tables"]):
        start = f"table {number} "
        tables[name] = unpacked(
            {
                key.removeprefix(start): part
                for key, part in numbers.items()
                if key.startswith(start)
            }
        )
    if [[name, len(table)] for name, table in tables.items()] != [
        [name, len(rows)] for name, rows in record["tables"].items()
    ]:
        raise ValueError("the tables belong to another result")
    references = [
        Reference(**(fields | {"authors": tuple(fields["authors"])}))
        for fields in record["references"]
    ]
    texts = {name: record[name] for name in ("study", "headline", "methods", "caution")}
    # earlier versions wrote the caution before the headline, too
    texts["headline"] = texts["headline"].removeprefix(texts["caution"]).lstrip()
    mappings = {name: record[name] for name in ("spec", "failures", "provenance")}
    if any(not isinstance(text, str) for text in texts.values()) or not isinstance(
        record["notices"], list
    ):
        raise TypeError("a sentence is not a text")
    if any(not isinstance(mapping, dict) for mapping in mappings.values()):
        raise TypeError("spec, failures or provenance is not a mapping")
    return kind(
        **texts,
        **mappings,
        tables=tables,
        arrays={name: numbers[f"array {number}"] for number, name in enumerate(numbers["arrays"])},
        notices=tuple(record["notices"]),
        citations=tuple(references),
        statements=tuple(
            Statement.from_record(statement) for statement in record.get("statements", [])
        ),
    )
