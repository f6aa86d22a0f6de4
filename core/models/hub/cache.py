"""A limit for downloads on disk: what failed is removed first, then what was used longest ago.

On a user's own computer the folder belongs to other programs too, and nothing is removed unless a
limit is named. A shared instance fills with what strangers ask for, and has one by default.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from core.limits import UNLIMITED, current_limits
from core.runs.files import named_size

VARIABLE = "PALIMPSEST_HUB_BYTES"
MINIMUM = 2**20
_TRIMMING = threading.Lock()
_at_hand: Counter[Path] = Counter()  # models whose files are being fetched


@contextlib.contextmanager
def within_limit(cache: Path, folder: Path) -> Iterator[None]:
    """Fetch files of a model in the block, then remove models until all fit the limit.

    A model whose files were fetched stays, whatever its size, and those used longest ago leave.
    Where the block fails, what was fetched of its model leaves first.

    Args:
        cache: The hub's folder, which holds one folder per model.
        folder: The model's.

    Raises:
        StoreError: If the limit that the environment names is no number of bytes.
    """
    limit = named_size(VARIABLE, MINIMUM) or current_limits().max_download_bytes
    with _TRIMMING:
        _at_hand[folder] += 1
    failed = True
    try:
        yield
        failed = False
        with contextlib.suppress(OSError):
            os.utime(folder)
    finally:
        with _TRIMMING:
            _at_hand[folder] -= 1
            if limit != UNLIMITED and not _at_hand[folder]:
                _trim(cache, limit, folder, failed)


def _trim(cache: Path, limit: int, folder: Path, failed: bool) -> None:
    sizes = {each: _bytes(each) for each in cache.glob("models--*") if each.is_dir()}
    for each in sorted(sizes, key=lambda each: (failed and each != folder, _when(each))):
        if sum(sizes.values()) <= limit:
            return
        if not _at_hand[each] and (failed or each != folder):
            shutil.rmtree(each, ignore_errors=True)
            sizes[each] = _bytes(each)


def _bytes(folder: Path) -> int:
    """Sum the bytes of the files in a folder, without links. huggingface_hub's `scan_cache_dir`
    counts no interrupted downloads and no damaged models, which fill the disk as well."""
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
