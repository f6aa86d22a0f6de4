"""Imports that threads must not do at the same time."""

from __future__ import annotations

import threading
from importlib import import_module

# Packages whose parts import each other: scipy.stats imports scipy.spatial.distance, which imports
# its parent, which imports it. torch and spaCy are entered by their own name everywhere, so that a
# second thread waits for the first.
TANGLED = ("pandas", "scipy.spatial", "scipy.stats", "sklearn")
_one = threading.Lock()
_done = threading.Event()


def import_tangled() -> None:
    """Import packages whose parts import each other, in one thread at a time: of two threads that
    enter by different parts, Python lets one see a module that is half executed."""
    if _done.is_set():
        return
    with _one:
        for name in TANGLED:
            import_module(name)
        _done.set()
