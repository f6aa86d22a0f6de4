"""Imports that take their time: before a reader waits for them, and out of the collector's sight afterwards."""

from __future__ import annotations

import gc
import sys
import threading
from importlib import import_module

HEAVY = ("datasets", "pandas", "scipy", "sklearn", "spacy", "torch", "transformers")
FIRST = ("pandas",)  # what any figure needs
FIGURES = (
    *("core.rsa.layers.study", "core.rsa.layers.charts", "core.probes.trees.study", "core.probes.trees.charts"),
    *("core.weights.clusters.study", "core.weights.clusters.charts.figures"),
    *("core.alignment.seeds.study", "core.alignment.seeds.charts"),
)
_frozen: set[str] = set()


def warm() -> threading.Thread:
    """Import what figures need in the background, while a browser is still loading its own half."""
    thread = threading.Thread(target=_import_all, name="warming", daemon=True)
    thread.start()
    return thread


def _import_all() -> None:
    for name in (*FIRST, *FIGURES):
        import_module(name)


def freeze_heavy_imports() -> bool:
    """Take what the heavy imports left behind out of the garbage collector's sight, once for each of them.

    Streamlit collects after every script run: a third of a second under the interpreter's lock once torch and
    transformers are loaded, which thirty readers feel. Frozen objects are not looked at again.

    Returns:
        Whether there was something new to freeze.
    """
    new = {name for name in HEAVY if name in sys.modules} - _frozen
    if new:
        gc.collect()
        gc.freeze()
        _frozen.update(new)
    return bool(new)
