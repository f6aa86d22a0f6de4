"""What is made once and read by every session: themed charts and files to download.

Thirty users who ask for the same study get the same result object. Drawing and serialising a chart
takes a tenth of a second and an image a quarter, under one interpreter's lock; made once, it costs
the others nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from core.runs.process.remembered import Memory

Value = TypeVar("Value")
MOST = 256  # values; a chart or a file takes 10 to 500 kB
A_MOMENT = 1.0  # seconds in which sessions that redraw ask once; a study looks for itself
_made: Memory[Any] = Memory(MOST)


def made_once(owner: object, name: Hashable, make: Callable[[], Value]) -> Value:
    """Return what is made from an object, such as a result, and forgotten with it (see
    `Memory.get`); the name is all else that it depends on, such as view and theme."""
    return cast(Value, _made.get(name, make, owner))
