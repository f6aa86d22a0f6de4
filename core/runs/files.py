"""Files of the store: private folders, and checked bytes."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import sqlite3
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from core import COMMAND
from core.errors import StoreError

Books = TypeVar("Books")

FILENAME = re.compile(r"[0-9a-f]{2}[/\\][0-9a-f]{30}\.safetensors")
ATTEMPTS = 10
BOOKS = "cache.db"  # diskcache's name for its database
BROKEN = frozenset({"SQLITE_ERROR", "SQLITE_IOERR_SHORT_READ"})  # tables gone, a file cut short


class NoBooks:
    """Stands for a database that could not be opened."""

    def __init__(self, error: Exception) -> None:
        """`error`: why, which every use raises."""
        self.error = error

    @contextlib.contextmanager
    def lent(self) -> Iterator[Any]:
        """Stand for a connection too; always raises the error that was met."""
        raise self.error.with_traceback(None)
        yield


def checksum(payload: bytes) -> bytes:
    """Calculate CRC-32, which detects damage but not manipulation."""
    return zlib.crc32(payload).to_bytes(4, "big")


def new_filename() -> str:
    """Make a new name relative to the store, in one of 256 folders."""
    name = secrets.token_hex(16)
    return f"{name[:2]}/{name[2:]}.safetensors"


def write_whole(path: str, payload: bytes) -> None:
    """Write a file and move it to its place, so that no part of it is ever visible. Raises OSError
    and leaves nothing if it cannot be written."""
    partial = path + ".part"
    for attempt in range(ATTEMPTS):
        try:
            with open(partial, "xb") as file:  # noqa: PTH123
                file.write(payload)
            os.replace(partial, path)  # noqa: PTH105
            return
        except OSError as error:
            remove([partial])
            # The folder is not there yet, or another process has just cleared it away.
            if not isinstance(error, FileNotFoundError) or attempt == ATTEMPTS - 1:
                raise
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120


def write_beside(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, into a folder that exists. Raises OSError
    and leaves nothing if it cannot be written."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def remove(paths: Iterable[str]) -> None:
    """Remove files that still exist."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108


def read_checked(directory: str, filename: str, check: bytes) -> bytes:
    """Read a file that `write_whole` wrote. Raises OSError if it is missing, its name is not of
    that kind, or its content does not match `check`."""
    if not FILENAME.fullmatch(filename):
        raise OSError("an entry whose file is not one that this store names")
    with open(f"{directory}/{filename}", "rb") as file:  # noqa: PTH123
        payload = file.read()
    if checksum(payload) != check:
        raise OSError(f"the file {filename} is damaged")
    return payload


def user_cache_folder() -> Path:
    """Find the user's cache folder by the conventions of the system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "palimpsest"
    if sys.platform == "win32":
        return (
            Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
            / "palimpsest"
            / "cache"
        )
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palimpsest"


def store_folder() -> Path:
    """Find the folder of the default store: `PALIMPSEST_STORE`, or the user's cache folder."""
    return named_folder("PALIMPSEST_STORE") or user_cache_folder()


def make_private_folder(folder: Path) -> None:
    """Make the folder readable by its owner alone (mode 0700), if it is new or empty. Raises
    OSError if it cannot be made, or is no folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        folder.chmod(0o700)


def named_folder(variable: str) -> Path | None:
    """Read a folder from an environment variable; None if it is not set."""
    text = os.environ.get(variable, "").strip()
    return Path(os.path.expanduser(text)).absolute() if text else None  # noqa: PTH111


def named_size(variable: str, minimum: int) -> int | None:
    """Read a number of bytes from an environment variable; None if it is not set. Raises StoreError
    if it is not a whole number, or below `minimum`."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < minimum:
        raise StoreError(f"{variable} is {text!r}; give a number of bytes, at least {minimum}.")
    return int(text)


def identity(folder: Path) -> int | None:
    """Identify the database in the folder by its inode; None without one."""
    try:
        return os.stat(f"{folder}/{BOOKS}").st_ino  # noqa: PTH116
    except OSError:
        return None


def open_books(folder: Path, opener: Callable[[Path], Books], say: Callable[[str], None]) -> Books:
    """Open the database; set a damaged one aside and begin a new one. Raises OSError or
    sqlite3.Error if the folder cannot be made or written, StoreError if a damaged database cannot
    be moved."""
    for _ in range(ATTEMPTS):
        before = identity(folder)
        try:
            make_private_folder(folder.parent)
            make_private_folder(folder)
            return opener(folder)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            if is_full(error) or not is_damage(error):
                raise
            if identity(folder) == before:  # else another process has just begun new ones
                set_aside(folder, error, say)
    raise StoreError(
        f"The store in {folder} is damaged and cannot be set aside: "
        "results are shown but not kept. Remove that folder."
    )


def sentence_of(error: Exception, folder: Path) -> str:
    """Say what is wrong with the store in a folder, and what to do."""
    if isinstance(error, StoreError):
        return str(error)
    if is_full(error):
        return (
            f"The disk is full: results are shown but not kept in {folder}. "
            f"Free some space, or empty the store with `{COMMAND} store clear`."
        )
    return (
        f"The store in {folder} does not answer ({error}): results are shown but not kept. "
        "Make it a folder that can be written, or name another in PALIMPSEST_STORE."
    )


def is_full(error: BaseException | None) -> bool:
    """Whether an error is due to a full disk or quota."""
    while error is not None:
        if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            return True
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


def is_read_only(error: Exception) -> bool:
    """Whether a connection could not be written when it was made."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY


def is_damage(error: Exception) -> bool:
    """Whether an error is due to a damaged database."""
    if type(error) is sqlite3.DatabaseError or isinstance(
        error, UnicodeDecodeError | sqlite3.IntegrityError
    ):
        return True
    return getattr(error, "sqlite_errorname", None) in BROKEN


def set_aside(folder: Path, error: Exception, say: Callable[[str], None]) -> None:
    """Move a folder with a damaged database away, and warn."""
    with contextlib.suppress(OSError):
        folder.rename(folder.with_name(f"{folder.name}.damaged-{time.time_ns()}"))
    say(f"The store in {folder} was damaged ({error}); it is set aside and a new one is begun.")
