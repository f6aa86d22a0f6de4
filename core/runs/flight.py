"""Single flight: of all who want one key at once, one computes and the others wait for it.

Threads of one process wait on a lock of their own (they sleep; nobody spins). Processes wait on an entry in a shared
table that expires, so that a holder that crashed blocks nobody for long; a holder that is still at work renews it.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

POLL_SECONDS = 0.25  # how often someone who waits looks up, to hear of a cancelled run


class LockTable(Protocol):
    """Expiring locks that several processes see."""

    def take(self, key: str, token: str, seconds: float) -> bool:
        """Whether the lock is now ours, for so many seconds."""

    def renew(self, key: str, token: str, seconds: float) -> None:
        """Hold on for so many seconds from now, if it is still ours."""

    def release(self, key: str, token: str) -> None:
        """Let go, if it is still ours."""


@dataclass
class Flight:
    """One key that is being worked on, as the threads of this process see it."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    owner: int | None = None
    payload: bytes | None = None  # what a holder leaves for those who wait when the store could not keep it


class SingleFlight:
    """At most one holder of a key among all threads and processes that share a lock table."""

    def __init__(self, table: LockTable, seconds: float) -> None:
        """`seconds`: after how long a holder that stopped renewing is taken for dead."""
        self._table = table
        self._seconds = seconds
        self._guard = threading.Lock()
        self._flights: dict[str, Flight] = {}

    @contextlib.contextmanager
    def hold(self, key: str, waiting: Callable[[], None] | None = None) -> Iterator[Flight]:
        """Hold `key` for the length of the block; look again, inside, whether the work is still to be done.

        Args:
            key: What to hold. Not re-entrant.
            waiting: Called a few times a second while somebody else holds the key; may raise to give up.

        Raises:
            RuntimeError: If this thread holds the key already: it would wait for itself.
        """
        with self._guard:
            flight = self._flights.setdefault(key, Flight())
            if flight.owner == threading.get_ident():
                raise RuntimeError(f"this thread already holds {key}")
            flight.users += 1
        try:
            while not flight.turn.acquire(timeout=POLL_SECONDS):
                if waiting is not None:
                    waiting()
            flight.owner = threading.get_ident()
            try:
                with self._hold_among_processes(key, waiting):
                    yield flight
            finally:
                flight.owner = None
                flight.turn.release()
        finally:
            with self._guard:
                flight.users -= 1
                if not flight.users:
                    del self._flights[key]

    @contextlib.contextmanager
    def _hold_among_processes(self, key: str, waiting: Callable[[], None] | None) -> Iterator[None]:
        token = new_token()
        pause = 0.005
        while not self._table.take(key, token, self._seconds):
            if waiting is not None:
                waiting()
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, POLL_SECONDS)
        done = threading.Event()
        threading.Thread(target=self._keep, args=(key, token, done), name="palimpsest-lock", daemon=True).start()
        try:
            yield
        finally:
            done.set()
            self._table.release(key, token)

    def _keep(self, key: str, token: str, done: threading.Event) -> None:
        while not done.wait(self._seconds / 3):
            self._table.renew(key, token, self._seconds)


def new_token() -> str:
    """Who holds a lock: machine, process, and a mark of its own."""
    return f"{socket.gethostname()}|{os.getpid()}|{uuid.uuid4().hex}"


def holder_is_dead(token: str) -> bool:
    """Whether the holder was a process of this machine that is no more. In doubt no: its lock will expire."""
    host, _, rest = token.partition("|")
    pid = rest.partition("|")[0]
    if os.name != "posix" or host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


class CacheLocks:
    """A lock table in a disk cache of its own, from which nothing is evicted."""

    def __init__(self, cache: Any, trouble: tuple[type[Exception], ...], say: Callable[[str], None]) -> None:
        """`cache`: a diskcache.Cache of bytes; `trouble`: what it raises when the disk fails; `say`: who is told."""
        self._cache = cache
        self._trouble = trouble
        self._say = say

    def take(self, key: str, token: str, seconds: float) -> bool:
        """See LockTable. A lock whose holder is known to be dead is taken over without waiting for it to expire."""
        try:
            if self._cache.add(key, token.encode(), expire=seconds):
                return True
            holder = self._cache.get(key)
            if holder is None or not holder_is_dead(holder.decode()):
                return False
            with self._cache.transact():
                return self._cache.get(key) == holder and self._cache.set(key, token.encode(), expire=seconds)
        except self._trouble as error:
            # Without locks something may be computed twice, which costs time; waiting for ever would cost more.
            self._say(f"The store's locks do not work ({error}); the same result may be computed more than once.")
            return True

    def renew(self, key: str, token: str, seconds: float) -> None:
        """See LockTable."""
        with contextlib.suppress(*self._trouble), self._cache.transact():
            if self._cache.get(key) == token.encode():
                self._cache.touch(key, expire=seconds)

    def release(self, key: str, token: str) -> None:
        """See LockTable."""
        with contextlib.suppress(*self._trouble), self._cache.transact():
            if self._cache.get(key) == token.encode():
                self._cache.delete(key)
