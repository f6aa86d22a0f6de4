"""JSON of strangers, parsed in this process within a bounded amount of memory.

Python's parser takes up to 50 times the bytes of a file that is made for it: `[[[[...` costs 98
bytes for two, `{"":{}}` 273 for eight, `{},` 72 for three, objects of one new key each 31 for one.
What it takes at most is told by counting the characters that begin a value, which is quick; what
would take more is refused before anything is parsed. Time goes with the bytes: numbers of 4,000
digits, the slowest, take a quarter of a second for `MOST_BYTES`. So an answer, a header or a file
of settings costs at most that, whatever is in it, and needs no process of its own. Objects are not
collected meanwhile: to search them again and again takes 30 times as long as to make 600,000 lists,
and every other thread waits.
"""

from __future__ import annotations

import codecs
import gc
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from core.errors import ModelError

MOST_BYTES = 8 * 2**20  # of a file; the index of 100,000 tensors has them
MOST_MEMORY = 2**26  # bytes that the values may take: 43,000 tensors of a header
# Bytes that the parser takes at most for each character that begins a value, as measured in
# CPython 3.11 with values that hold almost nothing but that kind, and rounded up.
COSTS = {b"[": 100, b"{": 128, b":": 130, b",": 40, b'"': 30}
WIDE_QUOTE = 20  # more for each quotation mark, where characters take several bytes
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SMALL = 2**20  # bytes up to which keys are looked at, which takes a list of each object's entries
PLAIN, WIDE = 2, 10  # bytes for each byte, decoded and as a part of a value; those with wide ones
_collecting = threading.Lock()


class TooLargeError(ValueError):
    """JSON that would take more memory than any file of settings."""


class TwiceError(ValueError):
    """JSON in which an object has two values of one name, of which Python keeps the last."""


def parse(raw: bytes, *, once: bool = False) -> Any:
    """Parse JSON from a stranger. Raises TooLargeError if it might take too much memory as Python's
    objects, ValueError if it is no JSON, and where `once` TwiceError if two values have one
    name."""
    if len(raw) > MOST_BYTES:
        raise TooLargeError(f"it has {len(raw) / 2**20:,.0f} MB")
    if (need := memory_of(raw)) > MOST_MEMORY:
        raise TooLargeError(f"its values would take {need / 2**20:,.0f} MB of memory")
    try:
        with _uncollected():
            return json.loads(raw, object_pairs_hook=_once if once and len(raw) <= SMALL else None)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


@contextmanager
def _uncollected() -> Iterator[None]:
    """Make objects without the search for those that nothing refers to, a thread at a time."""
    with _collecting:
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        raise TwiceError(counts.most_common(1)[0][0][:100])
    return made


def parse_json(raw: bytes, source: object) -> dict[str, Any]:
    """Parse a JSON object; `source` names it in messages. Raises ModelError if it is none, repeats
    a name, or would take more memory than a file of settings."""
    if raw.startswith(MARKS):  # which some readers of a model's files take and others do not
        raise ModelError(
            f"{source} begins with a byte order mark (BOM), which JSON must not have: "
            "save it as UTF-8 without one."
        )
    try:
        value = parse(raw, once=True)
    except TwiceError as error:
        raise ModelError(
            f"{source} gives {error} twice in one place: keep the value that is meant."
        ) from error
    except TooLargeError as error:
        raise ModelError(
            f"{source} is too large for a file of settings ({error}): choose another model."
        ) from error
    except ValueError as error:
        raise ModelError(
            f"{source} is damaged (not JSON: {str(error)[:200]}): get it again."
        ) from error
    if not isinstance(value, dict):
        raise ModelError(f"{source} is damaged (not a JSON object): get it again.")
    return value


def memory_of(raw: bytes) -> int:
    """Count the bytes that parsing takes at most, those of `raw` left out."""
    wide = not raw.isascii() or b"\\" in raw
    values = sum(cost * raw.count(mark) for mark, cost in COSTS.items())
    return values + (WIDE * len(raw) + WIDE_QUOTE * raw.count(b'"') if wide else PLAIN * len(raw))
