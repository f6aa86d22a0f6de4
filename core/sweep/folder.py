"""A sweep's folder: its state, and one Parquet file with the rows of all finished cells.

Both are written beside and renamed, so that a reader, or a process that is killed, never leaves or
sees half a file. The folders of this user's latest sweeps are listed beside the store, for pages.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from core.errors import PalimpsestError
from core.limits import current_limits
from core.results.columns import meaning
from core.results.folder import ExportError
from core.runs.files import write_beside
from core.runs.price import duration_text
from core.runs.store import default_store

STATE, ROWS, COPY, LISTED = "sweep.json", "results.parquet", "sweep.yaml", "sweeps.json"
SETTING = "setting_"  # beginning of the columns of options
RUNNING, FINISHED, STOPPED, BROKEN = "running", "finished", "stopped", "broken off"
SILENT = 60.0  # seconds without a sign of life, after which a sweep counts as broken off
MOST_LISTED = 20
LARGEST_STATE = 2**26  # bytes


@dataclass(frozen=True)
class Failure:
    """A cell that could not be computed: its key, its name, and why."""

    cell: str
    name: str
    sentence: str


@dataclass(frozen=True)
class State:
    """The state of a sweep.

    Attributes:
        name: Of its file.
        studies: Names of its studies.
        cells: How many it has.
        finished: Keys of finished cells.
        read: How many of them were read from the store.
        running: Names of running cells.
        failures: Of cells; one of which a part failed has rows, and is tried again, too.
        seconds: Since the start.
        remaining: Expected seconds until the end; None where there is nothing to go by.
        status: RUNNING, FINISHED or STOPPED, as its process wrote it last.
        updated: Unix time of writing.
    """

    name: str
    studies: tuple[str, ...]
    cells: int
    finished: tuple[str, ...] = ()
    read: int = 0
    running: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    seconds: float = 0.0
    remaining: float | None = None
    status: str = RUNNING
    updated: float = 0.0

    @property
    def now(self) -> str:
        """RUNNING, FINISHED, STOPPED, or BROKEN where its process has fallen silent."""
        silent = time.time() - self.updated > SILENT
        return BROKEN if self.status == RUNNING and silent else self.status

    @property
    def failed(self) -> int:
        """How many cells failed."""
        return len({failure.cell for failure in self.failures})

    @property
    def sentence(self) -> str:
        """Say how many cells are finished, running and failed, and what to do or to expect."""
        parts = [f"{len(self.finished):,} of {self.cells:,} cells are finished"]
        if self.failed:
            parts.append(f"{self.failed:,} failed")
        if self.now == RUNNING and self.running:
            parts.append(f"{len(self.running):,} are running")
        counts = ", ".join(parts)
        if self.now == RUNNING and self.remaining:
            return f"{counts}; about {duration_text(self.remaining)} left."
        if self.now in (STOPPED, BROKEN):
            return f"{counts}. The sweep was {self.now}; the same command resumes it."
        return f"{counts}."

    @property
    def ended(self) -> frozenset[str]:
        """Keys of the cells that are finished or failed."""
        return frozenset((*self.finished, *(failure.cell for failure in self.failures)))


def write_state(folder: Path, state: State) -> None:
    """Write the state of a sweep. Raises ExportError if the folder cannot be written."""
    _write(folder / STATE, json.dumps(asdict(state) | {"updated": time.time()}).encode())


def read_state(folder: Path) -> State | None:
    """Read the state of the sweep in a folder; None if there is none or it is damaged."""
    try:
        if (folder / STATE).stat().st_size > LARGEST_STATE:
            return None
        record = json.loads((folder / STATE).read_bytes())
        values = {each.name: record[each.name] for each in fields(State)}
        values["failures"] = tuple(Failure(**each) for each in record["failures"])
        for name in ("studies", "finished", "running"):
            values[name] = tuple(str(part) for part in record[name])
        state = State(**values)
        sane = isinstance(state.cells, int) and isinstance(state.name, str)
        return state if sane and time.time() - state.updated > -SILENT else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def setting_columns(setting: Mapping[str, Any]) -> dict[str, Any]:
    """Write a cell's options as columns; several values become text with spaces between them."""
    return {
        f"{SETTING}{name}": " ".join(map(str, value)) if isinstance(value, tuple) else value
        for name, value in setting.items()
    }


def write_rows(folder: Path, parts: Sequence[pd.DataFrame]) -> int:
    """Write the rows of all finished cells as one Parquet file, with the meaning of each column.

    A column whose values are text in one study and numbers in another becomes text.

    Returns:
        How many rows were written; without any cell there is no file.

    Raises:
        ExportError: If the folder cannot be written.
    """
    if not parts:
        return 0
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pd.concat([part.dropna(axis=1, how="all") for part in parts], ignore_index=True)
    for part in parts:  # columns that are empty in every cell
        for name in part.columns.difference(rows.columns, sort=False):
            rows[name] = pd.Series(pd.NA, rows.index, "Float64")
    for name in rows.columns:
        mixed = rows[name].dtype.kind == "O"
        if mixed and len({type(cell) for cell in rows[name].dropna()}) > 1:
            rows[name] = rows[name].map(str, na_action="ignore")
    table = pa.Table.from_pandas(rows, preserve_index=False)
    schema = table.schema
    for place, column in enumerate(schema):
        if text := _meaning(column.name):
            schema = schema.set(place, column.with_metadata({"meaning": text}))
    sink = pa.BufferOutputStream()
    pq.write_table(table.cast(schema), sink)
    _write(folder / ROWS, sink.getvalue().to_pybytes())
    return len(rows)


def _meaning(column: str) -> str | None:
    if column.startswith(SETTING):
        return f"the option {column.removeprefix(SETTING)} of the cell"
    return meaning("cells", column)


def read_rows(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the rows of each finished cell by its key; none if the file is missing or damaged."""
    import pyarrow as pa

    try:
        rows = pd.read_parquet(folder / ROWS)
        return {str(key): part for key, part in rows.groupby("cell", sort=False)}
    except (OSError, pa.ArrowInvalid, KeyError):
        return {}


def open_folder(folder: Path, text: str) -> None:
    """Make a sweep's folder, with a copy of its file, and list it for this user's pages.

    Raises:
        ExportError: If it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    _write(folder / COPY, text.encode())
    listed = [str(folder.resolve()), *(str(each) for each in _listed())]
    with contextlib.suppress(OSError):  # without a store, as it says itself, nothing is listed
        write_beside(
            default_store().folder / LISTED, json.dumps(list(dict.fromkeys(listed))).encode()
        )


def latest_sweeps() -> dict[Path, State]:
    """Return this user's latest sweeps by folder, the latest first; none on a shared instance,
    where they belong to another user."""
    if current_limits().shared:
        return {}
    states = {folder: read_state(folder) for folder in _listed()}
    return {folder: state for folder, state in states.items() if state is not None}


def _listed() -> list[Path]:
    try:
        listed = json.loads((default_store().folder / LISTED).read_bytes())
        return [Path(str(folder)) for folder in listed][:MOST_LISTED]
    except (OSError, ValueError, TypeError, PalimpsestError):
        return []


def _write(path: Path, content: bytes) -> None:
    """Write a file, or say that the folder cannot be written."""
    try:
        write_beside(path, content)
    except OSError as error:
        raise _unwritable(path.parent, error) from error


def _unwritable(folder: Path, error: OSError) -> ExportError:
    return ExportError(
        f"The sweep cannot write to {folder}: {error.strerror}. Choose another folder with --out; "
        "what was computed is in the store."
    )
