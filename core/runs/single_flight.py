"""Single flight: of all that need a key at once, one computes and the others wait.

Threads of one process wait on a lock of their own (they sleep; nobody spins). Processes wait on a
locked file, which the system unlocks when its holder ends, however it ends: a crashed holder blocks
nobody, and only the holder can release its lock. A stopped holder keeps it; a waiting process may
give up."""

from __future__ import annotations

import contextlib
import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from core.maths.progress import check
from core.runs.files import make_private_folder
from core.runs.process.turns import POLL_SECONDS, turn


@dataclass
class Flight:
    """One key that is being computed, with the threads that wait for it."""

    turn: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0
    owner: int | None = None
    # what a holder leaves for those who wait when the store could not keep it
    payload: bytes | None = None


class SingleFlight:
    """At most one holder per key among all threads and processes that share a folder."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        """`folder`: where the locked files lie, one for each key that is held; `say`: who is told
        of trouble."""
        self._folder = folder
        self._say = say
        self._guard = threading.Lock()
        self._flights: dict[str, Flight] = {}

    @contextlib.contextmanager
    def hold(self, key: str, waiting: Callable[[], object] = check) -> Iterator[Flight]:
        """Hold `key` for the block; check again inside whether the work is still to be done.
        `waiting`, called a few times a second meanwhile, may raise to give up, by default where the
        run was cancelled. Raises RuntimeError if this thread holds the key already."""
        with self._guard:
            flight = self._flights.setdefault(key, Flight())
            if flight.owner == threading.get_ident():
                raise RuntimeError(f"this thread already holds {key}")
            flight.users += 1
        try:
            with turn(flight.turn, waiting):
                flight.owner = threading.get_ident()
                try:
                    with self._hold_among_processes(key, waiting):
                        yield flight
                finally:
                    flight.owner = None
        finally:
            with self._guard:
                flight.users -= 1
                if not flight.users:
                    del self._flights[key]

    @contextlib.contextmanager
    def _hold_among_processes(self, key: str, waiting: Callable[[], object]) -> Iterator[None]:
        path = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()}.lock"
        lock = FileLock(path, thread_local=False, fallback_to_soft=False)
        pause = 0.005
        while not self._take(lock):
            waiting()
            time.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, POLL_SECONDS)
        try:
            yield
        finally:
            if lock.is_locked:
                # While it is ours: a process that opened the file and locks it next finds it gone
                # and begins again.
                with contextlib.suppress(OSError):
                    path.unlink()
                lock.release()

    def _take(self, lock: FileLock) -> bool:
        """Take the lock; return whether nobody must be waited for."""
        try:
            if not self._folder.is_dir():
                make_private_folder(self._folder)
            lock.acquire(blocking=False)
        except Timeout:
            return False
        except (OSError, RuntimeError) as error:  # RuntimeError: a file system that cannot lock
            # Without locks a value may be computed twice, which is better than waiting for ever.
            self._say(
                f"The store's locks do not work ({error}); "
                "the same result may be computed more than once."
            )
        return True
