"""A cache of what is made once per result and read by every session: themed charts, files to
download.

Thirty users who ask for the same study get the same result object. Drawing and serialising a chart
takes a tenth of a second and an image a quarter, under one interpreter's lock; made once, it costs
the others nothing. Entries are dropped with the result that they were made from, or when newer ones
need their place.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

import streamlit as st

Value = TypeVar("Value")
KEPT = 256  # things that stay; a chart or a file is some 10 to 500 kB


@dataclass(eq=False)
class _Slot:
    """The place of one thing; its lock is held while the thing is being made."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: bool = False
    value: Any = None


class MadeOnce:
    """Values by owner and name, the least recently read of them going first. Thread-safe."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._slots: OrderedDict[tuple[int, Hashable], _Slot] = OrderedDict()
        self._owners: dict[int, weakref.ref[object]] = {}
        self._lock = threading.RLock()  # a collected owner may be forgotten while this very thread holds it

    def get(self, owner: object, name: Hashable, make: Callable[[], Value]) -> Value:
        """The value of this name for this very object; whoever asks while it is being made waits for it.

        Args:
            owner: What the value is made from; two equal objects are two owners.
            name: What else it depends on, such as the view and the theme.
            make: Called once; what it raises is raised here, and the next to ask tries again.
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
        """Know an owner by its number, and nobody who had the number before."""
        noted = self._owners.get(id(owner))
        if noted is None or noted() is not owner:
            self._drop(id(owner))
            self._owners[id(owner)] = weakref.ref(owner, partial(self._forget, id(owner)))

    def _forget(self, number: int, dead: weakref.ref[object]) -> None:
        with self._lock:
            if self._owners.get(number) is dead:  # the number may be another's by now
                self._drop(number)

    def _drop(self, number: int) -> None:
        self._owners.pop(number, None)
        for key in list(self._slots):  # a copy: the collector may end another owner at any point
            if key[0] == number:
                self._slots.pop(key, None)


@st.cache_resource(show_spinner=False)
def made_once() -> MadeOnce:
    """The process's charts and files."""
    return MadeOnce()
