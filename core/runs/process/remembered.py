"""What this process remembers between two calls: one kind of memory, with one rule.

Results are in the store (`core.runs.store`), and what belongs to one browser tab is in Streamlit's
session state. The app's studies that run or have ended (`ui.study.jobs`) and its list of recent
ones are a record, not a memory: one object a process, with bounds of its own, which Streamlit
keeps. Whatever else is worth keeping is in a `Memory`:

- A value is made once. Threads that ask meanwhile wait and get the same value, or the same error.
- It is returned until it is as old as the memory says, its owner is collected, or newer values
  need its place; the least recently read goes first. No memory is without a bound.
- Neither an error nor a cancelled attempt is kept: the next call tries again.
- All threads share the value, so nobody changes it.
- A forked child begins with nothing: a value may hold what only its parent has (open files, threads
  of a library), and a lock may be held by a thread that the child lacks.

`functools.cache` is for what cannot change while the process lives and is not a user's to ask for:
files of the program, once parsed (`results.words`, `results.templates`), the options of a spec's
class, what is installed, facts of the machine (`maths.devices`, `runs.process.memory`,
`runs.price.speed`). The mathematics, which knows nothing of the house, uses `lru_cache`. What an
object derives from itself is its `cached_property`; what a task needs while it runs is its own.
"""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

from core.errors import CancelledError

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")
Place = tuple[int, Hashable]  # the owner's id, or 0, and the key
# device, number of the file, bytes, nanoseconds of the change of its content and of its status:
# the first of the two is what a copy or an archive says, and may be that of another content
FileState = tuple[int, int, int, int, int]

READ_FILES = 2_048  # files of models that a reader remembers


@dataclass(eq=False)
class _Entry:
    """The place of one value; its lock is held while the value is being made."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    value: Any = None
    weight: float = 0.0
    made_at: float | None = None
    error: BaseException | None = None


class Memory(Generic[Value]):
    """Values by key, bounded and safe under threads and fork; see the module for its rule.

    Attributes:
        most: Bound of the sum of weights; the newest value stays even if it is heavier.
        seconds: Life of a value.
    """

    def __init__(
        self,
        most: float,
        *,
        seconds: float = math.inf,
        weigh: Callable[[Value], float] = lambda value: 1.0,
    ) -> None:
        self.most, self.seconds, self._weigh = most, seconds, weigh
        self.begin()
        _MEMORIES.add(self)

    def begin(self) -> None:
        """Begin with nothing and a new lock, as in a child without the thread that held it."""
        self._lock = threading.RLock()  # an owner may be collected while this thread holds it
        self._entries: OrderedDict[Place, _Entry] = OrderedDict()
        self._owners: dict[int, weakref.ref[object]] = {}

    def get(self, key: Hashable, make: Callable[[], Value], owner: object = None) -> Value:
        """Return a value; make it if it is not there, or too old. The key is all that it depends on
        but its owner, with which it is forgotten; two equal objects are two owners."""
        with self._lock:
            if owner is not None:
                self._meet(owner)
            place = (id(owner) if owner is not None else 0, key)
            entry = self._entries.get(place)
            if entry is None or self._is_old(entry):
                entry = self._entries[place] = _Entry()
            self._entries.move_to_end(place)
        with entry.lock:
            if entry.error is not None:
                raise entry.error
            if entry.made_at is None:
                self._make(place, entry, make)
            return cast(Value, entry.value)

    def fresh(self, key: Hashable) -> Value | None:
        """Return a value that is there and not too old, or None; nobody is waited for."""
        with self._lock:
            entry = self._entries.get((0, key))
            if entry is None or self._is_old(entry):
                return None
            self._entries.move_to_end((0, key))
            return cast("Value | None", entry.value)

    def last(self, key: Hashable) -> Value | None:
        """Return the value that was put last, of any age; None if it was forgotten."""
        with self._lock:
            entry = self._entries.get((0, key))
            return None if entry is None else cast("Value | None", entry.value)

    def put(self, key: Hashable, value: Value) -> None:
        """Remember a value that was made elsewhere, in place of an earlier one."""
        self._enter((0, key), _Entry(value=value))

    def forget(self, key: Hashable) -> None:
        """Forget a value, if it is there."""
        with self._lock:
            self._entries.pop((0, key), None)

    def __len__(self) -> int:
        return len(self._entries)

    def _make(self, place: Place, entry: _Entry, make: Callable[[], Value]) -> None:
        try:
            entry.value = make()
        except BaseException as error:
            with self._lock:
                if self._entries.get(place) is entry:
                    del self._entries[place]
            if isinstance(error, Exception) and not isinstance(error, CancelledError):
                entry.error = error  # for the threads that wait; a later call tries again
            raise
        self._enter(place, entry)

    def _enter(self, place: Place, entry: _Entry) -> None:
        """Give a made value its place as the newest, and drop others until all fit."""
        entry.made_at, entry.weight = time.monotonic(), self._weigh(entry.value)
        with self._lock:
            self._entries[place] = entry
            self._entries.move_to_end(place)
            excess = sum(each.weight for each in list(self._entries.values())) - self.most
            while excess > 0 and len(self._entries) > 1:
                excess -= self._entries.popitem(last=False)[1].weight

    def _is_old(self, entry: _Entry) -> bool:
        return entry.made_at is not None and time.monotonic() - entry.made_at >= self.seconds

    def _meet(self, owner: object) -> None:
        """Enter an owner by its id, and drop the values of an earlier object with that id."""
        noted = self._owners.get(id(owner))
        if noted is None or noted() is not owner:
            self._drop(id(owner))
            self._owners[id(owner)] = weakref.ref(owner, partial(self._leave, id(owner)))

    def _leave(self, number: int, dead: weakref.ref[object]) -> None:
        with self._lock:
            if self._owners.get(number) is dead:  # the id may belong to another object by now
                self._drop(number)

    def _drop(self, number: int) -> None:
        self._owners.pop(number, None)
        for place in list(self._entries):  # a copy: the collector may drop another owner's
            if place[0] == number:
                self._entries.pop(place, None)


def remembered(
    most: int, *, seconds: float = math.inf, state: Callable[..., Hashable] | None = None
) -> Callable[[Callable[Arguments, Value]], Callable[Arguments, Value]]:
    """Make a function of hashable arguments remember `most` values for some seconds. `state` is
    what a value depends on besides the arguments, looked up at every call: `file_state` or
    `folder_state`."""

    def decorate(make: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
        memory: Memory[Value] = Memory(most, seconds=seconds)

        @wraps(make)
        def recall(*given: Arguments.args, **named: Arguments.kwargs) -> Value:
            now = None if state is None else state(*given, **named)
            key = (given, tuple(named.items()), now)
            return memory.get(key, partial(make, *given, **named))

        return recall

    return decorate


def file_state(path: Path) -> FileState:
    """Say what changes when a file's content does: its place, size and times."""
    return _state(path.stat())


def folder_state(path: Path) -> Hashable:
    """Say what changes when a file of a folder does; folders inside it are not looked at."""
    with os.scandir(path) as entries:
        return frozenset((file.name, _state_of(file)) for file in entries)


def forget_all() -> None:
    """Forget everything in every memory, as a process that has just started."""
    for memory in list(_MEMORIES):
        memory.begin()


def _state(status: os.stat_result) -> FileState:
    changed = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *changed


def _state_of(file: os.DirEntry[str]) -> FileState | None:
    """The state of what a name leads to; None where it leads nowhere."""
    try:
        return _state(file.stat())
    except OSError:
        return None


def _begin_in_child() -> None:
    """Begin with nothing in a forked child. What the parent made is never freed here: freeing a
    store would close connections, which SQLite forbids on the other side of a fork."""
    _OF_PARENT.extend(memory._entries for memory in list(_MEMORIES))
    forget_all()


_OF_PARENT: list[object] = []
_MEMORIES: weakref.WeakSet[Memory[Any]] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_begin_in_child)
