"""What the store asks of its books beyond what diskcache offers: many entries at once, and room without waste."""

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

from core.runs.files import is_full

CLOCK_SECONDS = 60.0  # a clock that is set right by less than that has not gone back


@dataclass(frozen=True)
class StoreInfo:
    """Where the store lies, how many entries it has, and its size and size limit in bytes."""

    folder: Path
    entries: int
    bytes: int
    size_limit: int


@contextlib.contextmanager
def settings_read() -> Iterator[None]:
    """Settings that are missing or of another kind are damaged books, which diskcache does not look for."""
    try:
        yield
    except (AttributeError, ValueError, TypeError) as error:
        raise sqlite3.DatabaseError(f"damaged settings: {error}") from error


def read_many(cache: Any, keys: list[str]) -> list[tuple[str, bytes]]:
    """Those of the keys that are there and sound. Two statements for all, where `get` needs three for each."""
    for key in keys:
        cache.disk.put(key)
    marks = ",".join("?" * len(keys))
    rows = cache._sql(
        f"SELECT rowid, key, mode, filename, value FROM Cache WHERE raw = 1 AND key IN ({marks})", keys
    ).fetchall()
    found = []
    for rowid, key, *place in rows:
        with contextlib.suppress(OSError):
            found.append((rowid, key, cache.disk.fetch(*place, read=False)))
    if found:
        with contextlib.suppress(sqlite3.OperationalError):  # a full disk can be read from all the same
            rowids = ",".join(str(rowid) for rowid, _, _ in found)
            cache._sql(f"UPDATE Cache SET access_time = ? WHERE rowid IN ({rowids})", (time.time(),))
    return [(key, payload) for _, key, payload in found]


def drop(cache: Any, keys: Iterable[str]) -> None:
    """Forget these keys."""
    for key in keys:
        cache.delete(key)


def trim(cache: Any) -> None:
    """Evict, one at a time, until the size is within the limit; the newest entry stays."""
    for number in range(len(cache) - 1):
        if cache.volume() <= cache.size_limit:
            return
        if not number:
            _follow_clock(cache)
        with cache._transact() as (sql, cleanup):
            cache._cull(time.time(), sql, cleanup, limit=cache.cull_limit)


def _follow_clock(cache: Any) -> None:
    """After a clock went back, what was used "later" than now would stay, and all that comes would leave first."""
    ((latest,),) = cache._sql("SELECT MAX(access_time) FROM Cache").fetchall()
    now = time.time()
    if latest > now + CLOCK_SECONDS:
        back = latest - now + CLOCK_SECONDS
        cache._sql("UPDATE Cache SET access_time = access_time - ? WHERE access_time > ?", (back, now))


def clear(cache: Any, folder: Path) -> None:
    """Throw every entry away, files that a crash left behind, and damaged books; on a full disk the folder itself."""
    for path in folder.parent.glob(f"{folder.name}.damaged-*"):
        shutil.rmtree(path)
    try:
        cache.clear()
    except (OSError, sqlite3.Error) as error:
        if not is_full(error):  # else the books have no room even to forget
            raise
        shutil.rmtree(folder)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of each such file, and removes it
        cache.check(fix=True)
