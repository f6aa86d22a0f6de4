"""Slow imports: done in the background, then frozen for the garbage collector."""

from __future__ import annotations

import gc
import sys
import threading
from importlib import import_module

from core.runs.process.imports import import_tangled

HEAVY = ("datasets", "pandas", "scipy", "sklearn", "spacy", "torch", "transformers")
FIRST = ("pandas",)  # what any figure needs
FIGURES = (
    *(
        "core.rsa.layers.study",
        "core.rsa.layers.charts",
        "core.probes.trees.study",
        "core.probes.trees.charts",
    ),
    *("core.weights.clusters.study", "core.weights.clusters.charts.figures"),
    *("core.alignment.seeds.study", "core.alignment.seeds.charts"),
)
_frozen: set[str] = set()


def warm() -> threading.Thread:
    """Import what figures need in a background thread, while the browser loads the app."""
    thread = threading.Thread(target=_import_all, name="warming", daemon=True)
    thread.start()
    return thread


def _import_all() -> None:
    for name in (*FIRST, *FIGURES):
        import_module(name)
    import_tangled()


def freeze_heavy_imports() -> bool:
    """Freeze the objects of the heavy imports for the garbage collector, once for each import.

    Streamlit collects garbage after every script run: a third of a second under the interpreter's
    lock once torch and transformers are loaded, which delays everybody in a class of thirty. The
    collector skips frozen objects.

    Returns:
        Whether there was something new to freeze.
    """
    new = {name for name in HEAVY if name in sys.modules} - _frozen
    if new:
        gc.collect()
        gc.freeze()
        _frozen.update(new)
    return bool(new)
