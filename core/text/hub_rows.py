"""Reading a hub data set in a separate process, which has a memory limit and can be ended at any
time.

The library that streams data sets reads an endless line into memory, and a file of nothing but line
ends for hours; neither can be interrupted from within. The files that a data set's card names must
be its own, so that no card reaches addresses or files of the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, cast

from core.errors import CorpusError
from core.limits import current_limits
from core.runs.process.isolation import Apart, ApartError, ApartTimeoutError, Patience, RefusedError
from core.text.datasets import HubText, Row, read_rows, too_much

MOST_ROWS = 2_000_000  # rows looked at
MOST_EMPTY = 100_000  # rows without text
MOST_CHARACTERS = 200_000_000  # of all rows
# Bytes that reading may take; RLIMIT_DATA counts what is reserved, twice what is held.
MEMORY, MEMORY_SHARED = 2 * 2**30, 768 * 2**20
DEADLINE = 300.0  # seconds for a whole data set
SILENCE = 120.0  # seconds without a row
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\\|~")


def stream_rows(source: HubText) -> Iterator[str | tuple[str, ...]]:
    """Stream the rows of the column in order, strings or tuples of words, from a separate process,
    which malicious files cannot leave and cancelling ends at once. Raises CorpusError if the hub
    cannot be reached, has no such data set, configuration, split or column, requires a login,
    limits the rate, the data cannot be read as text, or no text is found within the limits;
    CancelledError if the run is cancelled."""
    yield from usable_rows(source, rows_apart(source))


def usable_rows(source: HubText, rows: Iterable[Row]) -> Iterator[str | tuple[str, ...]]:
    """Keep the rows that have text, up to the limits of rows and characters; see `stream_rows`."""
    taken = empty = 0
    for number, row in enumerate(rows, start=1):
        size = len(row) if isinstance(row, str) else sum(map(len, row or ()))
        taken += size
        if not size or not (row.strip() if isinstance(row, str) else row):
            empty += 1
        if empty > MOST_EMPTY:
            raise CorpusError(
                f"{MOST_EMPTY:,} rows of {source.name} hold no text: "
                "choose another column or data set."
            )
        if number > MOST_ROWS or taken > MOST_CHARACTERS:
            return
        if row:
            yield row


def rows_apart(source: HubText) -> Iterator[Row]:
    """Read the rows of a data set in another process.

    Raises:
        CorpusError: As for `datasets.read_rows`; also if it takes too long or too much memory.
        CancelledError: If the run is cancelled.
    """
    memory = MEMORY_SHARED if current_limits().shared else MEMORY
    reader = Apart("core.text.hub_rows", memory)
    try:
        for row in reader.ask(
            asdict(source), Patience(SILENCE, DEADLINE), f"reading {source.name}"
        ):
            yield tuple(row) if isinstance(row, list) else row
    except RefusedError as error:
        raise CorpusError(str(error)) from None
    except ApartTimeoutError:
        raise CorpusError(
            f"Reading {source.name} takes too long: choose another data set, or upload a file."
        ) from None
    except ApartError:
        raise CorpusError(too_much(source.name)) from None
    finally:
        reader.close()


def guard_card(name: str) -> None:
    """Require in this process that a card's data files lie in its own repository (or the folder
    that was named).

    Raises, when a card is read:
        CorpusError: If it names an address, or a path that begins at the root or leads upward.
    """
    from datasets import data_files

    resolve = data_files.resolve_pattern

    def resolve_own(pattern: str, base_path: str, *arguments: Any, **named: Any) -> list[str]:
        folder = f"hf://datasets/{name}@"
        inside = pattern.startswith(folder) or not ADDRESS.match(pattern)
        if not inside or ".." in pattern.replace("\\", "/").split("/"):
            raise CorpusError(
                f"The card of {name} names files outside its repository ({pattern[:100]!r}): "
                f"choose another data set."
            )
        return cast(list[str], resolve(pattern, base_path, *arguments, **named))

    data_files.resolve_pattern = resolve_own


def answer(request: dict[str, str]) -> Iterator[Row]:
    """Read the rows of the data set that the request describes, in the separate process. Raises
    CorpusError as for `datasets.read_rows`."""
    source = HubText(**request)
    guard_card(source.name)
    yield from read_rows(source)
