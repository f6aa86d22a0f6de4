"""What was read from a file, remembered as long as the file stays as it is.

A shared server asks for the sizes and hashes of the same models with every redraw of every page,
and where thirty sessions wait for one interpreter, each question to the file system gives the turn
to another: what is not asked is what makes a page quick.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
# device, number of the file, bytes, nanoseconds of the change of its content and of its status:
# the first of the two is what a copy or an archive says, and may be that of another content
State = tuple[int, int, int, int, int]

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
    def of_state(path: str, state: State) -> T:
        return read(Path(path))

    @wraps(read)
    def reader(path: Path) -> T:
        return of_state(str(path), _state(path.stat()))

    return reader


def remembered_folder(read: Callable[[Path], T]) -> Callable[[Path], T]:
    """As `remembered`, for a reader of a folder: its value is given again while the list of its
    files, and the size and time of change of each, stay the same.

    Files in folders inside it are not looked at: the reader must not depend on them.
    """

    @lru_cache(maxsize=MOST)
    def of_state(path: str, files: frozenset[tuple[str, State | None]]) -> T:
        return read(Path(path))

    @wraps(read)
    def reader(path: Path) -> T:
        with os.scandir(path) as entries:
            return of_state(str(path), frozenset((file.name, _state_of(file)) for file in entries))

    return reader


def _state(status: os.stat_result) -> State:
    changed = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *changed


def _state_of(file: os.DirEntry[str]) -> State | None:
    """The state of what a name leads to; None where it leads nowhere."""
    try:
        return _state(file.stat())
    except OSError:
        return None
