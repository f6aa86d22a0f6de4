"""What is made once and read by every session: themed charts and files to download.

Thirty users who ask for the same study get the same result object. Drawing and serialising a chart
takes a tenth of a second and an image a quarter, under one interpreter's lock; made once, it costs
the others nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from core.runs.process.remembered import Memory

Value = TypeVar("Value")
HELD, LEAST = 2**26, 2**16  # bytes of all charts and files, and that one counts as at least
MOST = 256  # values that a page asks for anew after a moment
A_MOMENT = 1.0  # seconds in which sessions that redraw ask once; a study looks for itself


def made_once(owner: object, name: Hashable, make: Callable[[], Value]) -> Value:
    """Return what is made from an object, such as a result, and forgotten with it (see
    `Memory.get`)."""
    return cast(Value, _made.get(name, make, owner))


def _bytes_of(value: Any) -> int:
    """Count the bytes of a file, a table, or all parts of a chart."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    size = sys.getsizeof(value) + getattr(value, "nbytes", 0)  # the latter of a result
    return int(size + sum(map(_bytes_of, parts)))


_made: Memory[Any] = Memory(HELD, weigh=lambda value: max(LEAST, _bytes_of(value)))
