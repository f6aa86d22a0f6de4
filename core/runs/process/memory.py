"""Return freed memory to the system where the C library would keep it.

glibc raises, whenever a large block is freed, the size from which blocks are mapped one by one, up
to 32 MB; the blocks below lie in heaps that shrink at their end only. After a study of maps between
spaces a third of the process was such room, and the next study took its own beside it. With a fixed
threshold a large array is mapped when it is made and given back when it is freed. Another C
library, or another system, is left as it is.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from core.limits import current_limits

# Bytes from which a block is mapped by itself, and bytes that a heap keeps at its end. A small size
# saves memory and costs time (a fifth of a study of maps): it is for instances that many share.
ROOMY, TIGHT = (8 * 2**20, 32 * 2**20), (2**19, 4 * 2**20)
MEMINFO = Path("/proc/meminfo")
HEAPS = 2  # of all threads together: every reader is a thread, and would have a heap of its own
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of mallopt(3)


@cache
def _library() -> Any:
    """Load the C library if it is glibc; None otherwise."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL(None)
        return library if hasattr(library, "gnu_get_libc_version") else None
    except OSError:
        return None


@cache
def give_back_large_blocks() -> bool:
    """Let large blocks be mapped singly, once for the process; return whether it worked."""
    library, (mapped, trimmed) = _library(), TIGHT if current_limits().shared else ROOMY
    return library is not None and bool(
        library.mallopt(_MMAP_THRESHOLD, mapped)
        and library.mallopt(_TRIM_THRESHOLD, trimmed)
        and library.mallopt(_ARENA_MAX, HEAPS)
    )


def give_back_free_memory() -> None:
    """Return free heap memory to the system; takes some milliseconds."""
    library = _library()
    if library is not None:
        library.malloc_trim(0)


def free_memory() -> float:
    """Count the bytes that a process may still take without swapping; infinite if unknown."""
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(
            1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")
        )
    except (OSError, StopIteration, ValueError, IndexError):  # not Linux
        pass
    try:
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return float("inf")
