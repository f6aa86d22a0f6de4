"""A limit for downloads on disk: models used longest ago are removed first.

On a user's own computer the folder belongs to other programs too, and nothing is removed unless a
limit is named. A shared instance fills with what strangers ask for, and has one by default.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from pathlib import Path

from core.limits import UNLIMITED, current_limits
from core.runs.files import named_size

VARIABLE = "PALIMPSEST_HUB_BYTES"
MINIMUM = 2**20
_TRIMMING = threading.Lock()


def trim_downloads(cache: Path, used: Path) -> None:
    """Note the use of a model, and remove those used longest ago until all fit the limit.

    Args:
        cache: The hub's folder, which holds one folder per model.
        used: The folder of the model at hand; it stays, whatever its size.

    Raises:
        StoreError: If the limit that the environment names is no number of bytes.
    """
    limit = named_size(VARIABLE, MINIMUM) or current_limits().max_download_bytes
    with contextlib.suppress(OSError):
        os.utime(used)
    if limit == UNLIMITED:
        return
    with _TRIMMING:
        sizes = {folder: _bytes(folder) for folder in cache.glob("models--*") if folder.is_dir()}
        for folder in sorted(sizes, key=_when):
            if sum(sizes.values()) <= limit:
                return
            if folder != used:
                shutil.rmtree(folder, ignore_errors=True)
                sizes[folder] = _bytes(folder)


def _bytes(folder: Path) -> int:
    """Sum the bytes of the files in a folder, without links."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):  # removed meanwhile
                total += Path(where, name).lstat().st_size
    return total


def _when(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
