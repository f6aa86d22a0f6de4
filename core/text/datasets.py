"""Text of a hub data set, streamed by a separate process: only the first rows, and one clear
sentence for each failure.

Code in a data set's repository is never run (`datasets` 4 and later cannot). The library that
streams data sets reads an endless line into memory, and a file of nothing but line ends for hours;
neither can be interrupted from within, so the process has a memory limit and can be ended at any
time. The files that a data set's card names must be its own, so that no card reaches addresses or
files of the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from core.errors import CorpusError
from core.limits import current_limits
from core.runs.process.isolation import Apart, ApartError, ApartTimeoutError, Patience, RefusedError

FORM = "hub:NAME[/CONFIG][#SPLIT][:COLUMN], such as hub:nyu-mll/glue/sst2#validation:sentence"
LONGEST_REFERENCE = 300  # characters
NO_MEMORY = "Error -4 while decompressing"  # as zlib says it
PREFERRED_COLUMNS = ("text", "sentence", "tokens", "words")
_PART = r"[A-Za-z0-9][\w.\-]*"
_REFERENCE = re.compile(
    rf"hub:(?P<name>{_PART}(?:/{_PART}){{0,2}})(?:#(?P<split>[\w.\-]+))?(?::(?P<column>[^:#/]+))?"
)
SENTENCES = {
    "login": "The data set {name} requires a login: accept its terms on its hub page, then run "
    "`hf auth login`.",
    "limited": "The hub limits the rate of requests: wait a few minutes, then read {name} again.",
    "offline": "{name} cannot be read, because the hub is switched off (HF_HUB_OFFLINE): use demo, "
    "or upload a file.",
    "unreachable": "{name} cannot be read, because the hub cannot be reached: check the network, "
    "or use demo.",
    "unknown": "The hub has no data set {name}, or it is private: check the name, which has the "
    f"form {FORM}.",
    "script": "The data set {name} is made by a script, which is never run: look for a Parquet "
    "copy on the hub.",
    "configuration": "The data set {name} has no configuration {configuration!r}: {message}",
    "split": "The data set {name} has no split {split}: {message}",
    "unreadable": "The data set {name} could not be read as text ({kind}: {message}).",
}
MOST_ROWS = 2_000_000  # rows looked at
MOST_EMPTY = 100_000  # rows without text
MOST_CHARACTERS = 200_000_000  # of all rows
# Bytes that reading may take; RLIMIT_DATA counts what is reserved, twice what is held.
MEMORY, MEMORY_SHARED = 2 * 2**30, 768 * 2**20
DEADLINE = 300.0  # seconds for a whole data set
SILENCE = 120.0  # seconds without a row
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|\\|~")
LONGEST_ROW = 1_000_000  # characters; a longer one counts as empty
Row = str | tuple[str, ...] | None


@dataclass(frozen=True)
class HubText:
    """A column of a split of a data set; empty strings for what the reference does not name."""

    name: str
    configuration: str = ""
    split: str = "train"
    column: str = ""


def parse_hub_ref(ref: str) -> HubText:
    """Read `hub:NAME[/CONFIG][#SPLIT][:COLUMN]`; NAME is `data` or `owner/data`, and two parts are
    owner and data set. Raises CorpusError for other forms, and for a local folder."""
    match = _REFERENCE.fullmatch(ref)
    if match is None or ".." in ref or len(ref) > LONGEST_REFERENCE:
        raise CorpusError(f"{ref[:100]!r} does not name a hub data set: use the form {FORM}.")
    parts = match["name"].split("/")
    name = "/".join(parts[:2])
    if _is_here(name):
        # `datasets` would read the folder instead of asking the hub.
        raise CorpusError(
            f"hub:{name} cannot be read, because {name} is also a local file or folder: "
            "start from another folder."
        )
    return HubText(
        name, parts[2] if len(parts) == 3 else "", match["split"] or "train", match["column"] or ""
    )


def _is_here(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # a name that is not valid in any file system
        return False


def stream_rows(source: HubText) -> Iterator[str | tuple[str, ...]]:
    """Stream the rows of the column in order, strings or tuples of words, from a separate process,
    which malicious files cannot leave. Raises CorpusError, with the reason, if they cannot be read
    as text within the limits."""
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
    """Read the rows of a data set in another process. Raises CorpusError as `read_rows` does; also
    if it takes too long or too much memory."""
    memory = MEMORY_SHARED if current_limits().shared else MEMORY
    # rows of text need no tensors, and a build of torch for GPUs has no room within the limit
    reader = Apart("core.text.datasets", memory, USE_TORCH="0")
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
    that was named); where it names others, reading it raises CorpusError."""
    from datasets import data_files

    resolve = data_files.resolve_pattern

    def resolve_own(pattern: str, base_path: str, *arguments: Any, **named: Any) -> list[str]:
        folder = f"hf://datasets/{name}@"
        inside = pattern.startswith(folder) or not ADDRESS.match(pattern)
        if not inside or ".." in pattern.replace("\\", "/").split("/"):
            raise CorpusError(
                f"The card of {name} names files outside its repository ({pattern[:100]!r}): "
                "choose another data set."
            )
        return cast(list[str], resolve(pattern, base_path, *arguments, **named))

    data_files.resolve_pattern = resolve_own


def answer(request: dict[str, str]) -> Iterator[Row]:
    """Read the rows of the data set that the request describes, in the separate process."""
    source = HubText(**request)
    guard_card(source.name)
    yield from read_rows(source)


def read_rows(source: HubText) -> Iterator[Row]:
    """Read the rows of the column in this process: strings, tuples of words, None for a row without
    text. Raises CorpusError, with the reason, if they cannot be read."""
    try:
        column = ""
        for row in _open(source):
            column = column or _column(source, row)
            value = row.get(column)
            if isinstance(value, str):
                yield value if len(value) <= LONGEST_ROW else None
            elif isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
                words = tuple(word for word in value if word.strip())
                yield words if sum(map(len, words)) <= LONGEST_ROW else None
            elif value is not None:
                raise CorpusError(
                    f"Column {column} of {source.name} contains {type(value).__name__} values, "
                    f"not text: choose another column of {', '.join(row)[:500]}."
                )
            else:
                yield None
    except CorpusError:
        raise
    except Exception as error:  # any error of the library's many readers
        without = isinstance(error, MemoryError) or NO_MEMORY in str(error)
        why = too_much(source.name) if without else _explain(source, error)
        raise CorpusError(why) from error


def too_much(name: str) -> str:
    """Say that a data set's reader needed more memory than it may have."""
    return (
        f"Reading {name} needs too much memory, perhaps because of a very long line: "
        "choose another data set."
    )


def _open(source: HubText) -> Any:
    """Open the streamed data set; a separate function so that tests can replace it by a local
    folder."""
    from datasets import load_dataset

    token = False if current_limits().shared else None  # visitors never use the owner's login
    return load_dataset(
        source.name, source.configuration or None, split=source.split, streaming=True, token=token
    )  # fmt: skip


def _column(source: HubText, row: dict[str, Any]) -> str:
    """Choose the named column, else the first that is likely to hold text."""
    if source.column:
        if source.column not in row:
            raise CorpusError(
                f"{source.name} has no column {source.column}: "
                f"choose one of {', '.join(row)[:500]}."
            )
        return source.column
    texts = [name for name, value in row.items() if isinstance(value, str)]
    for name in (*(p for p in PREFERRED_COLUMNS if p in row), *texts):
        return name
    raise CorpusError(
        f"{source.name} has no column of text, only {', '.join(row)[:500]}: "
        "choose another data set."
    )


def _explain(source: HubText, error: Exception) -> str:
    """Say what went wrong, and what to do about it."""
    message = " ".join(str(error).split())
    low = message.lower()
    status = getattr(getattr(error, "response", None), "status_code", None)
    problems = {  # the most telling first
        "login": "gated" in low or status in (401, 403),
        "limited": status == 429 or "too many requests" in low or "rate limit" in low,
        "offline": "offlinemode" in low,
        "unreachable": isinstance(error, ConnectionError | TimeoutError)
        or "reach" in low
        or "connect" in low,
        "unknown": "doesn't exist on the hub" in low or "couldn't find any data file" in low,
        "script": "scripts are no longer supported" in low,
        "configuration": "config" in low and ("not found" in low or "missing" in low),
        "split": "split" in low,
        "unreadable": True,
    }
    sentence = SENTENCES[next(problem for problem, holds in problems.items() if holds)]
    return sentence.format(
        name=source.name,
        configuration=source.configuration or "none",
        split=source.split,
        kind=type(error).__name__,
        message=message[:300],
    )
