"""Text of a hub data set, streamed: the first rows only, and one clear sentence for each way to fail.

Code in a data set's repository is never run (`datasets` 4 and later cannot).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.errors import CorpusError
from core.limits import current_limits

FORM = "hub:NAME[/CONFIG][#SPLIT][:COLUMN], such as hub:nyu-mll/glue/sst2#validation:sentence"
LONGEST_REFERENCE = 300  # characters
PREFERRED_COLUMNS = ("text", "sentence", "tokens", "words")
_PART = r"[A-Za-z0-9][\w.\-]*"
_REFERENCE = re.compile(rf"hub:(?P<name>{_PART}(?:/{_PART}){{0,2}})(?:#(?P<split>[\w.\-]+))?(?::(?P<column>[^:#/]+))?")


LONGEST_ROW = 1_000_000  # characters; a longer one counts as empty
Row = str | tuple[str, ...] | None


@dataclass(frozen=True)
class HubText:
    """A column of a split of a data set; empty strings where the reference leaves it open."""

    name: str
    configuration: str = ""
    split: str = "train"
    column: str = ""


def parse_hub_ref(ref: str) -> HubText:
    """Read `hub:NAME[/CONFIG][#SPLIT][:COLUMN]`; NAME is `data` or `owner/data`.

    With two parts, as in `hub:a/b`, they are owner and data set.

    Raises:
        CorpusError: If the reference is not of this form, or names a folder here.
    """
    match = _REFERENCE.fullmatch(ref)
    if match is None or ".." in ref or len(ref) > LONGEST_REFERENCE:
        raise CorpusError(f"{ref[:100]!r} does not name a hub data set; the form is {FORM}.")
    parts = match["name"].split("/")
    name = "/".join(parts[:2])
    if _is_here(name):
        # `datasets` would read the folder instead of asking the hub.
        raise CorpusError(f"{name} is also a file or folder here, so hub:{name} is refused; start from another folder.")
    return HubText(name, parts[2] if len(parts) == 3 else "", match["split"] or "train", match["column"] or "")


def _is_here(name: str) -> bool:
    try:
        return Path(name).exists()
    except OSError:  # a name that no file system takes
        return False


def read_rows(source: HubText) -> Iterator[Row]:
    """Rows of the column as they come, read here: strings, tuples of words, None for a row without text.

    Raises:
        CorpusError: If the hub cannot be reached, has no such data set, configuration, split or column, wants a
            login, limits the rate, or the data cannot be read as text.
    """
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
                    f"Column {column} of {source.name} holds {type(value).__name__} values, not text. "
                    f"Name another column: {', '.join(row)[:500]}."
                )
            else:
                yield None
    except CorpusError:
        raise
    except MemoryError as error:
        raise CorpusError(too_much(source.name)) from error
    except Exception as error:  # whatever the library's many readers make of a file
        raise CorpusError(_explain(source, error)) from error


def too_much(name: str) -> str:
    """What to say of a data set whose reader needed more memory than it may have."""
    return f"Reading {name} needs more memory than a text should (a line without end?): choose another data set."


def _open(source: HubText) -> Any:
    """The streamed data set; a function of its own so that tests can put a local folder in its place."""
    from datasets import load_dataset

    token = False if current_limits().shared else None  # strangers never borrow the owner's login
    return load_dataset(
        source.name, source.configuration or None, split=source.split, streaming=True, token=token
    )  # fmt: skip


def _column(source: HubText, row: dict[str, Any]) -> str:
    """The column asked for, else the first that is likely to hold text."""
    if source.column:
        if source.column not in row:
            raise CorpusError(f"{source.name} has no column {source.column}. It has: {', '.join(row)[:500]}.")
        return source.column
    texts = [name for name, value in row.items() if isinstance(value, str)]
    for name in (*(p for p in PREFERRED_COLUMNS if p in row), *texts):
        return name
    raise CorpusError(f"{source.name} has no column of text. It has: {', '.join(row)[:500]}.")


def _explain(source: HubText, error: Exception) -> str:
    """One sentence for what went wrong, and what to do about it."""
    message = " ".join(str(error).split())
    low, name = message.lower(), source.name
    status = getattr(getattr(error, "response", None), "status_code", None)
    if "gated" in low or status in (401, 403):
        return f"The data set {name} wants a login: accept its terms on its hub page, then run `hf auth login`."
    if status == 429 or "too many requests" in low or "rate limit" in low:
        return f"The hub limits the rate of requests just now. Wait some minutes and ask for {name} again."
    if "offlinemode" in low:
        return f"The hub is switched off here (HF_HUB_OFFLINE), so {name} cannot be read. Use demo, or upload a file."
    if isinstance(error, ConnectionError | TimeoutError) or "reach" in low or "connect" in low:
        return f"The hub cannot be reached, so {name} cannot be read. Check the network, use demo, or upload a file."
    if "doesn't exist on the hub" in low or "couldn't find any data file" in low:
        return f"The hub has no data set {name}, or it is private. Check the name; the form is {FORM}."
    if "scripts are no longer supported" in low:
        return f"The data set {name} is made by a script, which is never run. Look for a Parquet copy of it on the hub."
    if "config" in low and ("not found" in low or "missing" in low):
        return f"The data set {name} has other configurations than {source.configuration or 'none'!r}: {message[:300]}"
    if "split" in low:
        return f"The data set {name} has no split {source.split}: {message[:300]}"
    return f"The data set {name} could not be read as text ({type(error).__name__}: {message[:300]})."
