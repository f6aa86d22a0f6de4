"""Limits of downloads: of all on disk, and of each file while it arrives.

Of what is on disk, what failed is removed first, then what was used longest ago.
On a user's own computer the folder belongs to other programs too, and nothing is removed unless a
limit is named. A shared instance fills with what strangers ask for, and has one by default.

A file ends where the Hub said that it does, whatever the server sends. huggingface_hub compares the
sizes when everything has arrived; a progress bar of its callers is told of every piece before it is
written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from core.errors import ModelError
from core.limits import UNLIMITED, current_limits
from core.runs.files import named_size

VARIABLE = "PALIMPSEST_HUB_BYTES"
MINIMUM = 2**20
PLAIN = "huggingface_hub.http_get"  # the name of bars that are told of a file's own bytes
_TRIMMING = threading.Lock()
_at_hand: Counter[Path] = Counter()  # models whose files are being fetched


@contextlib.contextmanager
def within_limit(cache: Path, folder: Path) -> Iterator[None]:
    """Fetch files of a model into its `folder` of the `cache` in the block, then remove models
    until all fit the limit: those used longest ago first, or what was fetched here where the block
    fails. Raises StoreError if the environment's limit is no number of bytes."""
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


def stopping_bar(most: int, file: str) -> Any:
    """Make a class of progress bars that refuse a file of more than `most` bytes."""
    from huggingface_hub.utils import tqdm

    def check(size: float) -> None:
        if size > most:
            raise ModelError(
                f"{file} has more bytes than the {most:,} that the Hub states or a file of its "
                "kind may have: choose another model."
            )

    class Bar(cast("type[Any]", tqdm)):  # type: ignore[misc]
        monitor_interval = 0  # no thread that watches it: there would be one for each class

        def __init__(self, *values: Any, **named: Any) -> None:
            check(named.get("total") or 0)
            self.arrived = named.get("initial") or 0
            self.plain = named.get("name") == PLAIN
            super().__init__(*values, **named)

        def update(self, n: float | None = 1) -> bool | None:
            self.arrived += n or 0
            if self.plain:
                check(self.arrived)
            return cast("bool | None", super().update(n))

    return Bar
