"""The store: computed values on disk, under the sha256 of their inputs.

diskcache keeps the index (SQLite); the values are in our format: safetensors bytes with a checksum,
and no Python object is ever written or read. What is damaged, half-written or foreign is a miss and
is computed again. Where no store can be opened (a full disk, a folder that is gone or cannot be
written) nothing is found and nothing is kept, `info` says why, and every operation tries again to
open one. The size is limited, and the entries that were used longest ago are removed first, one at
a time.
"""

from __future__ import annotations

import contextlib
import copy
import shutil
import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

import diskcache

from core.errors import PalimpsestWarning, StoreError
from core.maths.arrays import Value
from core.maths.progress import check
from core.runs import entries, files
from core.runs.connections import PooledConnections, UnfinishedError
from core.runs.encoding import decode, decode_sound, encode, identified, key_of
from core.runs.entries import INLINE_BYTES, EntryFormat, StoreInfo
from core.runs.precomputed import Precomputed, default_precomputed
from core.runs.process.remembered import remembered
from core.runs.single_flight import Flight, SingleFlight

__all__ = ["Store", "StoreWarning", "current_store", "default_store", "using"]
__all__ += ["decode", "encode", "identified", "key_of"]

SIZE_LIMIT = 2 * 2**30  # bytes
MINIMUM_SIZE_LIMIT = 2**20  # bytes: an empty index takes some of it
STORES = 16  # that a process keeps open
READ_BATCH = 256  # entries read in one transaction
WRITE_BATCH_BYTES = 2**25  # bytes written in one transaction
TROUBLE = (OSError, sqlite3.Error, diskcache.Timeout, UnicodeDecodeError, StoreError)
Access = Literal["read", "write"]
Answer = TypeVar("Answer")

_CURRENT: ContextVar[Store | None] = ContextVar("palimpsest_store", default=None)


class StoreWarning(PalimpsestWarning):
    """A value could not be stored; the result itself is not affected."""


class _Disk(EntryFormat, diskcache.Disk):
    """Entries in the store's own format, never Python objects."""


class _Cache(PooledConnections, diskcache.Cache):
    """diskcache's cache, on a few connections for all threads."""


class Store:
    """A folder of values by key, shared by threads and processes of one machine."""

    def __init__(
        self,
        folder: Path,
        size_limit: int = SIZE_LIMIT,
        precomputed: Precomputed | None = None,
        refusal: StoreError | None = None,
    ) -> None:
        """Open the store, or make it; where neither can be done, `info` says why.

        Args:
            folder: Where it lies; made, readable by its owner only, if it is not there.
            size_limit: Bytes on disk above which what was used longest ago is thrown away.
            precomputed: Values that are found where the store has none; they are never written.
            refusal: Why nothing may be stored; None lets it.
        """
        self.folder = Path(folder)
        self._values_folder = self.folder / "values"
        self.size_limit, self.precomputed, self._refusal = size_limit, precomputed, refusal
        self.notices, self._guard = list[str](), threading.Lock()
        self._troubles: dict[Access, Exception] = {}  # of the last reading and the last writing
        self._open_values()
        locks = self.folder / "locks"
        with contextlib.suppress(OSError):  # said when a lock is wanted
            files.make_private_folder(locks)
        self._flights = SingleFlight(locks, self._say)

    def __contains__(self, key: str) -> bool:
        return self._use(lambda values: key in values, False) or (
            self.precomputed is not None and key in self.precomputed
        )

    @property
    def keeps(self) -> bool:
        """Whether there is a database to store values in."""
        return not isinstance(self._values, files.NoBooks)

    def without_precomputed(self) -> Store:
        """Return the same store without precomputed results."""
        plain = copy.copy(self)
        plain.precomputed = None
        return plain

    def get(self, key: str) -> Value | None:
        """Return the value under `key`; None if there is none or it is damaged."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Iterable[str]) -> dict[str, Value]:
        """Return the stored values of `keys`, in their order; damaged ones are left out."""
        return self.find(keys)[0]

    def find(self, keys: Iterable[str]) -> tuple[dict[str, Value], set[str]]:
        """Return what `get_many` does, and which of its keys are precomputed."""
        wanted = list(dict.fromkeys(keys))
        values: dict[str, Value] = {}
        for start in range(0, len(wanted), READ_BATCH):
            batch = wanted[start : start + READ_BATCH]
            none: list[tuple[str, bytes]] = []
            values |= decode_sound(dict(self._use(partial(entries.read_many, keys=batch), none)))
        present = len(values)
        if self.precomputed is not None and present < len(wanted):
            values |= decode_sound(
                self.precomputed.get_many(key for key in wanted if key not in values)
            )
        shipped = set(islice(values, present, None))
        return {key: values[key] for key in wanted if key in values}, shipped

    def put(self, key: str, value: Value) -> bool:
        """Store `value` under `key`; return False, with a warning, if it is not kept."""
        return self.put_many({key: value})

    def put_many(self, items: Mapping[str, Value]) -> bool:
        """Store every value; return False, with a warning, if not all are kept.

        Raises:
            TypeError: If a value is not made of arrays and JSON.
        """
        stored, batch, size = True, [], 0
        for key, value in items.items():
            payload = encode(value)
            batch.append((key, payload))
            size += len(payload)
            if size >= WRITE_BATCH_BYTES:
                stored &= self._write(batch)
                batch, size = [], 0
        return self._write(batch) and stored

    def drop(self, keys: Iterable[str]) -> None:
        """Remove the values under these keys."""
        keys = list(keys)
        if keys:  # what stays goes when its room is needed
            self._use(lambda values: [values.delete(key) for key in keys], [], "write")

    def lock(
        self, key: str, waiting: Callable[[], object] = check
    ) -> contextlib.AbstractContextManager[Flight]:
        """Hold `key` alone among all threads and processes of this store."""
        return self._flights.hold(key, waiting)

    def get_or_compute(
        self, key: str, compute: Callable[[], Value], waiting: Callable[[], object] = check
    ) -> tuple[Value, bool]:
        """Return the value under `key`; compute it once if it is missing.

        Args:
            key: What `key_of` makes of everything that the value depends on.
            compute: Makes the value. What it raises goes to the caller; the next that waits then
                computes.
            waiting: Called a few times a second while another computes; may raise to give up, by
                default where the run was cancelled.

        Returns:
            The value, the same whether computed or read, and whether it was there already.
        """
        value = self.get(key)
        if value is not None:
            return value, True
        with self.lock(key, waiting) as flight:
            value = self.get(key)  # look again: the holder of the lock has stored it
            if value is None and flight.payload is not None:
                value = decode(flight.payload)
            if value is not None:
                return value, True
            payload = encode(compute())
            if not self._write([(key, payload)]):
                flight.payload = payload
        return decode(payload), False

    def info(self) -> StoreInfo:
        """Report the number of entries, bytes on disk, and why results are not kept, if so."""
        entries, size = self._use(lambda values: (len(values), values.volume()), (0, 0))
        troubles = [files.sentence_of(error, self.folder) for error in self._troubles.values()]
        return StoreInfo(entries, size, "".join(troubles[:1]))

    def clear(self) -> None:
        """Remove everything, with damaged databases that were set aside.

        Raises:
            StoreError: If something cannot be removed.
        """
        if self._use(partial(entries.clear, folder=self._values_folder), False, "write"):
            return
        trouble = self._troubles["write"]
        try:
            if not files.is_full(trouble):  # deleting rows needs room, too
                raise trouble
            shutil.rmtree(self._values_folder)
        except TROUBLE as error:
            raise StoreError(
                f"The store in {self.folder} cannot be emptied ({error}); remove that folder."
            ) from error
        self._open_values()

    def _write(self, batch: list[tuple[str, bytes]]) -> bool:
        fitting = [(key, payload) for key, payload in batch if len(payload) < self.size_limit]
        if len(fitting) < len(batch):
            largest = max(len(payload) for _, payload in batch)
            self._say(
                f"A result of {largest / 2**20:,.1f} MiB is larger than the store's limit of "
                f"{self.size_limit / 2**20:,.1f} MiB and is not kept; raise PALIMPSEST_STORE_BYTES."
            )
        written = self._use(partial(entries.write_many, payloads=fitting), False, "write")
        return written and len(fitting) == len(batch)

    def _say(self, text: str) -> None:
        if text not in self.notices:
            self.notices = [*self.notices[-19:], text]
        warnings.warn(text, StoreWarning, stacklevel=4)

    def _use(
        self, operation: Callable[[Any], Answer], otherwise: Answer, access: Access = "read"
    ) -> Answer:
        """Do an operation on the database, once more after a new one was begun.

        Returns:
            Its answer; `otherwise` where there is no database for it, which `info` then explains.
        """
        books = self._values
        try:
            try:
                with books.lent() as values:
                    answer = operation(values)
            except TROUBLE as error:
                self._recover(books, error)
                with self._values.lent() as values:
                    answer = operation(values)
        except TROUBLE as error:
            self._troubles[access] = error
            self._say(files.sentence_of(error, self.folder))
            return otherwise
        self._troubles.pop("read", None)
        self._troubles.pop(access, None)
        return answer

    def _recover(self, books: _Cache | files.NoBooks, error: Exception) -> None:
        """Begin a new database if the one at hand is damaged, missing or could not be opened.

        Raises:
            Exception: The error itself, if the database is there and sound.
        """
        with self._guard:
            if self._values is not books:  # another thread has begun a new one
                return
            # else another process has begun a new one, or begins it now
            if (
                not isinstance(books, files.NoBooks)
                and not isinstance(error, UnfinishedError)
                and self._books == files.identity(self._values_folder)
            ):
                if files.is_read_only(error):
                    books.close()  # the connections stay so when the file does not
                    return
                if files.is_full(error) or not files.is_damage(error):
                    raise error
                files.set_aside(self._values_folder, error, self._say)
            self._open_values()

    def _open_values(self) -> None:
        # No memory map: an index that is cut short under it ends the process (SIGBUS).
        settings = {
            "disk": _Disk,
            "cull_limit": 0,
            "disk_min_file_size": INLINE_BYTES,
            "sqlite_mmap_size": 0,
        }
        settings |= {"eviction_policy": "least-recently-used", "size_limit": self.size_limit}
        try:
            if self._refusal is not None:
                raise self._refusal
            self._values: _Cache | files.NoBooks = files.open_books(
                self._values_folder, lambda folder: _Cache(str(folder), **settings), self._say
            )
        except TROUBLE as error:
            self._values = files.NoBooks(error)
        self._books = files.identity(self._values_folder)


def default_store() -> Store:
    """Open this process's store: `PALIMPSEST_STORE`, or in the user's cache folder.

    `PALIMPSEST_STORE_BYTES` sets its size limit, and nothing is stored where that is not a number
    of bytes; below it are the precomputed results, see `precomputed.default_precomputed`. Asked
    again, it is the same object, see `opened_store`.
    """
    folder, precomputed = files.store_folder(), default_precomputed()
    refusal = ""
    try:
        size_limit = files.named_size("PALIMPSEST_STORE_BYTES", MINIMUM_SIZE_LIMIT) or SIZE_LIMIT
    except StoreError as error:
        size_limit, refusal = SIZE_LIMIT, f"Results are shown but not kept: {error}"
    shipped = str(precomputed.path) if precomputed else ""
    return opened_store(str(folder), size_limit, shipped, refusal)


@remembered(STORES)
def opened_store(folder: str, size_limit: int, precomputed: str, refusal: str = "") -> Store:
    """Open a store, with the precomputed results in a file ("" for none), and the reason why it
    keeps nothing ("" for none). Asked again, it is the same object while no more than `STORES`
    others were asked for."""
    return Store(
        Path(folder),
        size_limit,
        Precomputed(Path(precomputed)) if precomputed else None,
        StoreError(refusal) if refusal else None,
    )


def current_store() -> Store:
    """Return the store of the current run; the default store outside `using`."""
    return _CURRENT.get() or default_store()


@contextlib.contextmanager
def using(store: Store) -> Iterator[Store]:
    """Make `store` the current store of this thread inside the block.

    Threads that it starts have contexts of their own; a run enters the block round each task.
    """
    token = _CURRENT.set(store)
    try:
        yield store
    finally:
        _CURRENT.reset(token)
