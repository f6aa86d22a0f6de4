"""Where this user's things may lie, and folders that are nobody else's business."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache_folder() -> Path:
    """Where programs of this user keep what can be made again, by the habits of the system; not made here."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "palimpsest"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "palimpsest" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "palimpsest"


def make_private_folder(folder: Path) -> None:
    """Make the folder for its owner alone (mode 0700). One that already holds things keeps the mode it has.

    Raises:
        OSError: If it cannot be made, or is no folder.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        folder.chmod(0o700)


def identity(path: Path) -> int | None:
    """Which file lies at `path` now (its inode); None where there is none. Another of the same name differs."""
    try:
        return path.stat().st_ino
    except OSError:
        return None
