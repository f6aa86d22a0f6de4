"""What was read from a file, remembered as long as the file stays as it is.

A shared server asks for the sizes and hashes of the same models with every redraw of every page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MOST = 2_048  # values that are remembered of each reader


def remembered(read: Callable[[Path], T]) -> Callable[[Path], T]:
    """Make a reader of one file give its value again while the file's size and time of change stay
    the same.

    What the reader raises is not remembered. The value is shared by all callers: it must not be
    changed.

    Args:
        read: A file's path -> what is read from it.
    """

    @lru_cache(maxsize=MOST)
    def of_state(path: str, file: str, size: int, changed: int) -> T:
        return read(Path(path))

    @wraps(read)
    def reader(path: Path) -> T:
        status = path.stat()
        return of_state(str(path), str(path.resolve()), status.st_size, status.st_mtime_ns)

    return reader
