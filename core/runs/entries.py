"""Entries of the store: their format, and operations that diskcache does not offer.

Where diskcache's public calls do not reach, its private `_sql` (a statement on the connection at
hand) is used.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.runs import files

# only a smaller value lies in the database, whose rows are rewritten at every use
INLINE_BYTES = 2**11
MODE_SAFETENSORS = 17  # ours; diskcache's own modes end at 4
CLOCK_SECONDS = 60.0  # smaller corrections of the clock are ignored


@dataclass(frozen=True)
class StoreInfo:
    """The number of entries, their size in bytes, and why results are not kept at the moment, in a
    sentence for the owner of the machine; "" if they are."""

    entries: int
    bytes: int
    trouble: str = ""


class EntryFormat:
    """Bytes under string keys, mixed into `diskcache.Disk`.

    The row of a value holds its checksum, and a small value itself; a large one is a file. Keys
    that are not strings and values that are not bytes are refused, where diskcache would serialize
    the objects; so are entries of any mode but ours, which it would deserialize.
    """

    written: list[str]  # by the transaction at hand, of which there is one at a time
    min_file_size: int
    _directory: str

    def put(self, key: Any) -> tuple[str, bool]:
        """Convert a key for the database. Raises TypeError if it is not a string."""
        if type(key) is not str:
            raise TypeError(f"keys of the store are strings, not {type(key).__name__}")
        return key, True

    def get(self, key: Any, raw: Any) -> str:
        """Convert a key from the database. Raises TypeError if it is not one that `put` gives."""
        if type(key) is not str or not raw:
            raise TypeError("a key that this store does not write")
        return key

    def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, str | None, bytes]:
        """Write a value; return size, mode, file and row. Raises OSError if it cannot be written,
        TypeError if it is not bytes."""
        if type(value) is not bytes or read:
            raise TypeError(f"the store keeps bytes, not {type(value).__name__}")
        if len(value) < self.min_file_size:
            return 0, MODE_SAFETENSORS, None, files.checksum(value) + value
        filename = files.new_filename()
        path = f"{self._directory}/{filename}"
        files.write_whole(path, value)
        self.written.append(path)
        return len(value), MODE_SAFETENSORS, filename, files.checksum(value)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> bytes:
        """Read the value of an entry. Raises OSError, which diskcache takes for a miss, if it is
        damaged or foreign."""
        if mode != MODE_SAFETENSORS or read or type(value) is not bytes:
            raise OSError(f"an entry of mode {mode}, which this store neither writes nor reads")
        if filename is not None:
            return files.read_checked(self._directory, filename, value)
        if files.checksum(value[4:]) != value[:4]:
            raise OSError("a damaged entry")
        return value[4:]

    def remove(self, file_path: str) -> None:
        """Remove a file but not its folder, which another writer may be about to use."""
        files.remove([f"{self._directory}/{file_path}"])


@contextlib.contextmanager
def settings_read() -> Iterator[None]:
    """Check the settings of the database, which diskcache does not."""
    try:
        yield
    except (AttributeError, ValueError, TypeError) as error:
        raise sqlite3.DatabaseError(f"damaged settings: {error}") from error


def read_many(cache: Any, keys: list[str]) -> list[tuple[str, bytes]]:
    """Read the entries of those keys that are present and sound, in two statements for all:
    diskcache's `get` needs three for each."""
    for key in keys:
        cache.disk.put(key)
    marks = ",".join("?" * len(keys))
    rows = cache._sql(
        f"SELECT rowid, key, mode, filename, value FROM Cache WHERE raw = 1 AND key IN ({marks})",
        keys,
    ).fetchall()
    entries = []
    for rowid, key, *place in rows:
        with contextlib.suppress(OSError):
            entries.append((rowid, key, cache.disk.fetch(*place, read=False)))
    if entries:
        with contextlib.suppress(sqlite3.OperationalError):  # a full disk can still be read
            rowids = ",".join(str(rowid) for rowid, _, _ in entries)
            cache._sql(
                f"UPDATE Cache SET access_time = ? WHERE rowid IN ({rowids})", (time.time(),)
            )
    return [(key, payload) for _, key, payload in entries]


def write_many(cache: Any, payloads: Iterable[tuple[str, bytes]]) -> bool:
    """Write all entries in one transaction, or none, and keep the size within the limit; True."""
    written: list[str] = []
    try:
        with cache.transact():
            cache.disk.written = written
            for key, payload in payloads:
                cache.set(key, payload)
    except BaseException:
        files.remove(written)  # rolled back: they belong to no row
        raise
    trim(cache)
    return True


def trim(cache: Any) -> None:
    """Evict entries one at a time until the size is within the limit; keep the newest. diskcache's
    `cull` takes ten at a time, and its `set` counts pages that the commit will free."""
    for number in range(len(cache) - 1):
        if cache.volume() <= cache.size_limit:
            return
        if not number:
            _follow_clock(cache)
        with cache.transact():
            oldest = cache._sql(
                "SELECT rowid, filename FROM Cache ORDER BY access_time LIMIT 1"
            ).fetchall()
            for rowid, _ in oldest:
                cache._sql("DELETE FROM Cache WHERE rowid = ?", (rowid,))
        for _, filename in oldest:
            if filename is not None:
                cache.disk.remove(filename)


def _follow_clock(cache: Any) -> None:
    """Correct access times after the clock was set back."""
    ((latest,),) = cache._sql("SELECT MAX(access_time) FROM Cache").fetchall()
    now = time.time()
    if latest > now + CLOCK_SECONDS:
        back = latest - now + CLOCK_SECONDS
        cache._sql(
            "UPDATE Cache SET access_time = access_time - ? WHERE access_time > ?", (back, now)
        )


def clear(cache: Any, folder: Path) -> bool:
    """Delete all entries, leftover files and damaged databases; return True."""
    for path in folder.parent.glob(f"{folder.name}.damaged-*"):
        shutil.rmtree(path)
    cache.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of each such file, and removes it
        cache.check(fix=True)
    return True
