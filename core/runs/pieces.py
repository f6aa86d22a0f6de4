"""The pieces of a long task's value, stored while it runs, so that a stopped run can go on.

Small pieces are written together, so that a task of a second writes none and a store has no file
for each. What a stopped task had not written yet is written when it stops. Once the task has its
value the pieces are dropped, except those that are expensive to compute again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Generic, TypeVar

from core.maths.arrays import Value
from core.maths.progress import span
from core.runs.store import Store, current_store
from core.runs.tasks import drop_with_value

SECONDS = 2.0  # between two writes
BYTES = 2**24  # of pieces that wait to be written

Name = TypeVar("Name", bound=Hashable)


class Pieces(Generic[Name]):
    """The pieces of one value by name, with those of an earlier run."""

    def __init__(self, store: Store, keys: Mapping[Name, str], lasting: bool) -> None:
        """Find what there is."""
        self._store, self._keys, self._lasting = store, keys, lasting
        stored = store.get_many(keys.values())
        self.values: dict[Name, Value] = {
            name: stored[key] for name, key in keys.items() if key in stored
        }
        self._waiting: dict[str, Value] = {}
        self._bytes, self._written_at = 0, time.monotonic()
        if not lasting:
            drop_with_value(stored)

    def add(self, name: Name, value: Value) -> None:
        """Add a piece; write it now or together with the next."""
        self.values[name] = value
        self._waiting[self._keys[name]] = value
        self._bytes += sum(getattr(part, "nbytes", 8) for part in value.values())
        if self._bytes >= BYTES or time.monotonic() - self._written_at >= SECONDS:
            self.write()

    def write(self) -> None:
        """Write the pieces that wait."""
        if self._waiting:
            self._store.put_many(self._waiting)
            if not self._lasting:
                drop_with_value(self._waiting)
        self._waiting, self._bytes, self._written_at = {}, 0, time.monotonic()


@contextmanager
def keep_pieces(keys: Mapping[Name, str], *, lasting: bool = False) -> Iterator[Pieces[Name]]:
    """Keep the pieces of the current task's value, however the block ends. `lasting` ones, such as
    what came over the network, stay when the task has its value."""
    pieces = Pieces(current_store(), keys, lasting)
    try:
        yield pieces
    except BaseException:
        pieces.write()
        raise
    if lasting:
        pieces.write()


def compute_pieces(
    keys: Sequence[str], compute: Callable[[int], Value], *, lasting: bool = False
) -> list[Value]:
    """Compute the pieces of a task's value by their numbers, except those that an interrupted run
    of it finished; `lasting` ones stay in the store."""
    with keep_pieces(dict(enumerate(keys)), lasting=lasting) as pieces:
        for number in range(len(keys)):
            if number not in pieces.values:
                with span(number / len(keys), (number + 1) / len(keys)):
                    pieces.add(number, compute(number))
    return [pieces.values[number] for number in range(len(keys))]
