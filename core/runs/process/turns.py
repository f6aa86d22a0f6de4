"""Turns of threads: a lock for which a run that is cancelled waits no longer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.maths.progress import check

POLL_SECONDS = 0.25  # how often waiting tasks check for cancellation


@contextmanager
def turn(lock: threading.Lock, waiting: Callable[[], object] = check) -> Iterator[None]:
    """Hold a lock for the block; `waiting` is called a few times a second while another holds it,
    and may raise to give up: by default where the run was cancelled."""
    while not lock.acquire(timeout=POLL_SECONDS):
        waiting()
    try:
        yield
    finally:
        lock.release()
