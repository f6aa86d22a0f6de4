"""A hub data set read by a process of its own, which has a limit of memory and can be ended at any time.

The library that streams data sets reads a line without end into memory, and a file of nothing but line ends for hours;
neither can be interrupted from within. `python -m core.text.hub_rows` reads, and writes a line of JSON per row; the
files that a data set's card names must be its own, so that no card reaches addresses or files of the host.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, cast

from core.errors import CorpusError
from core.runs.tasks import tick
from core.text.datasets import HubText, Row, read_rows, too_much

MOST_ROWS = 2_000_000  # rows looked at
MOST_EMPTY = 100_000  # rows without text
MOST_CHARACTERS = 200_000_000  # of all rows
MEMORY = 2 * 2**30  # bytes that reading may take
DEADLINE = 300.0  # seconds for a whole data set
SILENCE = 120.0  # seconds without a row
LOOK_UP_SECONDS = 0.2
WAITING_LINES = 256  # rows that wait to be taken; the reader waits for room
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\\|~")


def stream_rows(source: HubText) -> Iterator[str | tuple[str, ...]]:
    """Rows of the column, first to last: a string, or a tuple of words where the data set holds words.

    A process of its own reads them: what a stranger's files make of it ends with it, and cancelling ends it at once.

    Raises:
        CorpusError: If the hub cannot be reached, has no such data set, configuration, split or column, wants a
            login, limits the rate, the data cannot be read as text, or no text comes within the limits.
        CancelledError: If the run is cancelled.
    """
    yield from usable_rows(source, rows_apart(source))


def usable_rows(source: HubText, rows: Iterable[Row]) -> Iterator[str | tuple[str, ...]]:
    """The rows that hold text, as long as the limits of rows and bytes last; see `stream_rows`."""
    taken = empty = 0
    for number, row in enumerate(rows, start=1):
        size = len(row) if isinstance(row, str) else sum(map(len, row or ()))
        taken += size
        if not size or not (row.strip() if isinstance(row, str) else row):
            empty += 1
        if empty > MOST_EMPTY:
            raise CorpusError(f"{MOST_EMPTY:,} rows of {source.name} hold no text: name another column or data set.")
        if number > MOST_ROWS or taken > MOST_CHARACTERS:
            return
        if row:
            yield row


def rows_apart(source: HubText) -> Iterator[Row]:
    """Rows of a data set, read by another process.

    Raises:
        CorpusError: As `datasets.read_rows`; also if it takes too long or too much memory.
        CancelledError: If the run is cancelled.
    """
    root = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    with subprocess.Popen(
        [sys.executable, "-m", "core.text.hub_rows", json.dumps(asdict(source))],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": paths}, text=True, encoding="utf8",
    ) as reader:  # fmt: skip
        try:
            yield from _rows(source, reader)
        finally:
            reader.kill()


def _rows(source: HubText, reader: subprocess.Popen[str]) -> Iterator[Row]:
    lines: queue.Queue[str | None] = queue.Queue(WAITING_LINES)
    done = threading.Event()
    assert reader.stdout is not None
    threading.Thread(target=_pump, args=(reader.stdout, lines, done), daemon=True).start()
    began = heard = time.monotonic()
    try:
        while True:
            tick(0.0, f"reading {source.name}")
            if time.monotonic() - began > DEADLINE or time.monotonic() - heard > SILENCE:
                raise CorpusError(f"Reading {source.name} takes too long: choose another data set, or upload a file.")
            try:
                line = lines.get(timeout=LOOK_UP_SECONDS)
            except queue.Empty:
                continue
            heard = time.monotonic()
            if line is None:
                raise CorpusError(too_much(source.name))
            said = json.loads(line)
            if isinstance(said, dict):
                if said["error"]:
                    raise CorpusError(said["error"])
                return
            yield tuple(said) if isinstance(said, list) else said
    finally:
        done.set()


def _pump(output: IO[str], lines: queue.Queue[str | None], done: threading.Event) -> None:
    """Hand on what the reader writes, then None, until nobody takes it."""

    def hand_on(line: str | None) -> None:
        while not done.is_set():
            with contextlib.suppress(queue.Full):
                lines.put(line, timeout=LOOK_UP_SECONDS)
                return

    with contextlib.suppress(ValueError, OSError):  # closed under it
        for line in output:
            hand_on(line)
    hand_on(None)


def guard_card(name: str) -> None:
    """From now on in this process, a card's data files must lie in its own repository (or the folder that was named).

    Raises, when a card is read:
        CorpusError: If it names an address, or a path that begins at the root or leads upward.
    """
    from datasets import data_files

    resolve = data_files.resolve_pattern

    def resolve_own(pattern: str, base_path: str, *arguments: Any, **named: Any) -> list[str]:
        own = f"hf://datasets/{name}@"
        inside = pattern.startswith(own) or not ADDRESS.match(pattern)
        if not inside or ".." in pattern.replace("\\", "/").split("/"):
            raise CorpusError(
                f"The card of {name} names files that are not its own ({pattern[:100]!r}): choose another."
            )
        return cast(list[str], resolve(pattern, base_path, *arguments, **named))

    data_files.resolve_pattern = resolve_own


def _say(said: Row | dict[str, str]) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Read the data set that the first argument describes; a line of JSON per row, and one at the end."""
    source = HubText(**json.loads(sys.argv[1]))
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows; elsewhere perhaps not allowed
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    try:
        guard_card(source.name)
        for row in read_rows(source):
            _say(row)
        end = ""
    except CorpusError as error:
        end = str(error)
    _say({"error": end})
    os._exit(0)  # the library's threads may hold the end up


if __name__ == "__main__":
    main()
