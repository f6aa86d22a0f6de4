"""A long task's state, stored while it runs, so that a killed process loses only seconds.

The state lies under a key of its own, made of the task's, so that nothing but the same task ever
finds it; it goes when the task has its value, and what a crash leaves behind goes like everything
that is no longer used. A task that begins from a state that it finds gives the same value, to the
last bit, as one that was never interrupted: the state holds everything that the rest depends on,
generators of random numbers included.
"""

from __future__ import annotations

import time

from core.maths.arrays import Value
from core.maths.progress import SavedState
from core.runs.store import Store

SHORTEST, LONGEST = 10.0, 30.0  # seconds between two writes
SHARE = 0.03  # largest share of the time spent on writing, within `LONGEST`
LARGEST = 1 / 8  # of the store's size limit: a larger state would evict results


class StoredState(SavedState):
    """The stored state of one long computation."""

    def __init__(self, store: Store, key: str) -> None:
        """Take the store that keeps the state, and its key."""
        self._store: Store | None = store  # None once a state was too large for it
        self._key = key
        self._began = self._last = time.monotonic()
        self._took = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to store the state again."""
        pause = min(max(SHORTEST, self._took / SHARE), LONGEST)
        return self._store is not None and time.monotonic() - self._last >= pause

    @property
    def long(self) -> bool:
        """Whether the computation has lasted long enough for its final state to be stored."""
        return self._store is not None and time.monotonic() - self._began >= SHORTEST

    def find(self) -> Value | None:
        """Load the state that an earlier run of the same task left; None without one."""
        return None if self._store is None else self._store.get(self._key)

    def keep(self, state: Value) -> None:
        """Store `state` in place of the previous one; on a full disk, warn and go on. One of more
        than `LARGEST` of the store is not kept, nor any after it."""
        size = sum(getattr(part, "nbytes", 0) for part in state.values())
        if self._store is not None and size > LARGEST * self._store.size_limit:
            self._store = None
        if self._store is not None:
            began = time.monotonic()
            self._store.put(self._key, state)
            self._last = time.monotonic()
            self._took = self._last - began
