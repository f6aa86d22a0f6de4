"""Two tasks run at once, so each gets half of the processor's cores.

Libraries that multiply matrices start a thread a core by default. With two tasks that is two threads a core, which
wait for each other: on two cores the RSA page's first figure took 30 seconds instead of 18.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

TASKS_AT_ONCE = 2
VARIABLE = "OMP_NUM_THREADS"


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_cores() -> int:
    """Threads that a library may use in one task; what the user set in OMP_NUM_THREADS stands.

    Call it before torch is imported: its libraries read the variable when they are loaded.
    """
    given = os.environ.setdefault(VARIABLE, str(max(1, available_cores() // TASKS_AT_ONCE)))
    return int(given) if given.isdecimal() and int(given) > 0 else 1


@contextlib.contextmanager
def shared_cores() -> Iterator[None]:
    """A block in which libraries that were loaded before `share_cores` keep to a task's share too (numpy's BLAS)."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(share_cores(), user_api="blas"):
        yield
