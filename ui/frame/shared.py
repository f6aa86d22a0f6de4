"""A cache of what is made once per result and read by every session: themed charts, files to
download.

Thirty users who ask for the same study get the same result object. Drawing and serialising a chart
takes a tenth of a second and an image a quarter, under one interpreter's lock; made once, it costs
the others nothing. Entries are dropped with the result that they were made from, or when newer ones
need their place.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache, partial, wraps
from typing import Any, ParamSpec, TypeVar, cast

import streamlit as st

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")
KEPT = 256  # entries that are kept; a chart or a file takes 10 to 500 kB


@dataclass(eq=False)
class _Slot:
    """The place of one value; its lock is held while the value is being made."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: bool = False
    value: Any = None


class MadeOnce:
    """Values by owner and name; the least recently read are dropped first. Thread-safe."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._slots: OrderedDict[tuple[int, Hashable], _Slot] = OrderedDict()
        self._owners: dict[int, weakref.ref[object]] = {}
        self._lock = threading.RLock()  # an owner may be collected while this thread holds the lock

    def get(self, owner: object, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of this name for this object; make it at the first call, and wait
        meanwhile.

        Args:
            owner: The object that the value is made from; two equal objects are two owners.
            name: Everything else that it depends on, such as the view and the theme.
            make: Makes the value; after an exception, which is raised here, the next call tries
                again.
        """
        key = (id(owner), name)
        with self._lock:
            self._meet(owner)
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
            while len(self._slots) > self._kept:
                self._slots.popitem(last=False)
        with slot.lock:
            if not slot.made:
                slot.value = make()
                slot.made = True
            return cast(Value, slot.value)

    def __len__(self) -> int:
        return len(self._slots)

    def _meet(self, owner: object) -> None:
        """Enter an owner by its id, and drop the values of an earlier object with that id."""
        noted = self._owners.get(id(owner))
        if noted is None or noted() is not owner:
            self._drop(id(owner))
            self._owners[id(owner)] = weakref.ref(owner, partial(self._forget, id(owner)))

    def _forget(self, number: int, dead: weakref.ref[object]) -> None:
        with self._lock:
            if self._owners.get(number) is dead:  # the id may belong to another object by now
                self._drop(number)

    def _drop(self, number: int) -> None:
        self._owners.pop(number, None)
        for key in list(self._slots):  # a copy: the collector may remove another owner at any time
            if key[0] == number:
                self._slots.pop(key, None)


def for_a_second(make: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
    """Remember a function's values for a second at most: sessions that redraw at the same moment
    ask once.

    Arguments are hashable. What is raised is not remembered. For what a page shows: a study looks
    for itself.
    """

    @lru_cache(maxsize=KEPT)
    def within(second: int, *given: Arguments.args, **named: Arguments.kwargs) -> Value:
        return make(*given, **named)

    @wraps(make)
    def remembered(*given: Arguments.args, **named: Arguments.kwargs) -> Value:
        return within(int(time.monotonic()), *given, **named)  # type: ignore[arg-type]  # hashable

    return remembered


@st.cache_resource(show_spinner=False)
def made_once() -> MadeOnce:
    """Return the process's cache of charts and files."""
    return MadeOnce()
