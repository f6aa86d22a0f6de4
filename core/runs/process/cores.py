"""Threads per task: two tasks run at once, so each gets half of the processor's cores.

Libraries that multiply matrices start a thread a core by default. With two tasks that is two
threads a core, which wait for each other: on two cores the RSA page's first figure took 30 seconds
instead of 18. A limit that was put on and taken off round each run would stay for ever where
two runs overlap, so it is put on once and stays."""

from __future__ import annotations

import os
import sys
import threading
from importlib import import_module

TASKS_AT_ONCE = 2
VARIABLE = "OMP_NUM_THREADS"
# numba, which draws UMAP, gives its calling thread one a core afterwards, torch's products included
VARIABLE_OF_NUMBA = "NUMBA_NUM_THREADS"
_LIMITING = threading.Lock()
_limited: dict[str, int] = {}  # library -> threads that it was told to use


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_cores() -> int:
    """Set how many threads libraries use per task, unless OMP_NUM_THREADS is set; call it before
    torch and numba are imported, which read it then."""
    given = os.environ.setdefault(VARIABLE, str(max(1, available_cores() // TASKS_AT_ONCE)))
    share = int(given) if given.isdecimal() and int(given) > 0 else 1
    os.environ.setdefault(VARIABLE_OF_NUMBA, str(share))
    return share


def limit_threads() -> None:
    """Limit the threads of libraries that are loaded already (numpy's BLAS, torch)."""
    share = share_cores()
    with _LIMITING:
        if _limited.get("blas") != share:
            from threadpoolctl import threadpool_limits

            threadpool_limits(share, user_api="blas")
            _limited["blas"] = share
        if "torch" in sys.modules and _limited.get("torch") != share:
            import_module("torch").set_num_threads(share)  # another thread may be half way through
            _limited["torch"] = share
