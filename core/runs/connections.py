"""Connections to the store's database, each lent to one thread for one operation.

diskcache opens a connection for every thread and has no call that closes those of other threads, so
that a server whose threads come and go keeps the files of all of them open.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.runs.entries import settings_read
from core.runs.files import BOOKS, identity

MOST = 8  # connections at once
# seconds until a thread that waits for a connection gives up; as long as SQLite waits for a lock
BUSY_SECONDS = 60.0

LAST_MADE = "SELECT 1 FROM sqlite_master WHERE name = 'Settings_size_delete'"  # by diskcache

# never closed here: SQLite forbids it on the other side of a fork
_OF_PARENTS: list[sqlite3.Connection] = []


class UnfinishedError(sqlite3.OperationalError):
    """Another thread or process is just making the database. It can have tables and not yet the
    triggers that count entries and bytes, and what is written then would never be counted."""


class _Pool:
    """The connections of one process to one file."""

    def __init__(self) -> None:
        self.room = threading.BoundedSemaphore(MOST)
        self.idle: list[sqlite3.Connection] = []

    def close(self) -> None:
        """Close what is not lent; what is lent stays usable."""
        while self.idle:
            with contextlib.suppress(IndexError):  # another thread was quicker
                self.idle.pop().close()


class PooledConnections:
    """Mixin for `diskcache.Cache` that uses the connection lent to the thread.

    Its private `_con` is overridden because nothing public says which connection is used.
    """

    timeout: float

    def __init__(self, directory: str, **settings: Any) -> None:
        self._lent = threading.local()
        self._folder = Path(directory)
        self._pools: dict[tuple[int, int | None], _Pool] = {}
        self._made = False
        with settings_read(), self.lent():
            super().__init__(directory, **settings)  # type: ignore[call-arg]
        self.close()  # diskcache made its tables with a connection that does not wait for locks
        self._made = True

    @contextlib.contextmanager
    def lent(self) -> Iterator[Any]:
        """Lend this thread a connection for the block; blocks do not nest. Raises
        sqlite3.OperationalError if none comes free in time, UnfinishedError if the database is
        another than before, and half made."""
        pool = self._current_pool()
        if not pool.room.acquire(timeout=BUSY_SECONDS):
            raise sqlite3.OperationalError(
                f"all {MOST} connections were busy for {BUSY_SECONDS:.0f} seconds"
            )
        try:
            try:
                self._lent.connection = pool.idle.pop()
            except IndexError:
                self._lent.connection = None  # opened when it is asked for
            try:
                yield self
            except BaseException:  # in an unknown state
                if self._lent.connection is not None:
                    self._lent.connection.close()
                raise
            if self._lent.connection is not None:
                pool.idle.append(self._lent.connection)
        finally:
            del self._lent.connection
            pool.room.release()

    def close(self) -> None:
        """Close the connections that are not lent."""
        for pool in list(self._pools.values()):
            pool.close()

    def reset(self, key: str, *arguments: Any, **named: Any) -> Any:
        """Read or write a setting; see `diskcache.Cache.reset`."""
        with settings_read():
            return super().reset(key, *arguments, **named)  # type: ignore[misc]

    @property
    def _con(self) -> sqlite3.Connection:
        try:
            return self._lent.connection or self._connect()
        except AttributeError:
            raise RuntimeError("the database is used outside of `lent`") from None

    def _connect(self) -> sqlite3.Connection:
        connection = self._lent.connection = sqlite3.connect(
            self._folder / BOOKS,
            timeout=self.timeout,
            isolation_level=None,
            check_same_thread=False,
        )
        if self._made and not connection.execute(LAST_MADE).fetchall():
            raise UnfinishedError("the database is just being made")
        settings: list[tuple[str, Any]] = []
        with contextlib.suppress(sqlite3.OperationalError):  # the tables are still to be made
            settings = connection.execute("SELECT key, value FROM Settings").fetchall()
        with settings_read():
            for key, value in settings:
                # diskcache's name for a pragma; some are a connection's own
                if key.startswith("sqlite_"):
                    self.reset(key, value, update=False)
        return connection

    def _current_pool(self) -> _Pool:
        """Find the pool of this process and of the file that is current. No lock is taken, because
        a forked process would inherit a held one and wait for ever; `setdefault` and `pop` are each
        done by one thread at a time."""
        owner = os.getpid(), identity(self._folder)
        pool = self._pools.get(owner) or self._pools.setdefault(owner, _Pool())
        for earlier in self._pools.keys() - {owner}:
            left = self._pools.pop(earlier, None)
            if left is None:  # another thread was quicker
                continue
            if earlier[0] == owner[0]:
                left.close()
            else:
                _OF_PARENTS.extend(left.idle)
        return pool
