"""Tasks as JSON, for another process of this program: the function by its name, its plain arguments
with marks for what JSON has no form for. Any other value is refused.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

BYTES, RECORD = "bytes", "record"


def to_plain(value: Any) -> Any:
    """Write a task's argument, of JSON values, bytes, tuples and dataclasses, as what JSON can say.
    Raises TypeError for any other value.

    Example:
        >>> to_plain(("a", 1, (b"b",)))
        ['a', 1, [{'bytes': 'Yg=='}]]
    """
    if value is None or type(value) in (str, int, float, bool):
        return value
    if type(value) is bytes:
        return {BYTES: base64.b64encode(value).decode()}
    if type(value) is tuple:
        return [to_plain(part) for part in value]
    if is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        parts = {part.name: to_plain(getattr(value, part.name)) for part in fields(value)}
        return {RECORD: place_of(kind), "fields": parts}
    raise TypeError(f"a {type(value).__name__} is no plain value")


def from_plain(told: Any) -> Any:
    """Make what `to_plain` wrote; lists become tuples.

    Example:
        >>> from_plain(to_plain(("a", 1.5, (b"b", None))))
        ('a', 1.5, (b'b', None))
    """
    if isinstance(told, list):
        return tuple(map(from_plain, told))
    if not isinstance(told, dict):
        return told
    if BYTES in told:
        return base64.b64decode(told[BYTES])
    return named(told[RECORD])(**{name: from_plain(part) for name, part in told["fields"].items()})


def place_of(what: Callable[..., Any]) -> str:
    """Name a function or class of a module."""
    return f"{what.__module__}:{what.__qualname__}"


def named(place: str) -> Any:
    """Find what `place_of` named; raises ImportError or AttributeError if it is not there."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
