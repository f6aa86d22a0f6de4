"""The server's process: slow imports are done in the background and frozen for the garbage
collector, and the server's end cancels what still runs."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from core.errors import CancelledError
from core.runs.process.imports import import_tangled

if TYPE_CHECKING:
    from core.runs.runner import Progress
    from core.runs.tasks import Signal

HEAVY = ("datasets", "pandas", "scipy", "sklearn", "spacy", "torch", "transformers")
FIRST = ("pandas",)  # what any figure needs
FIGURES = (
    *(
        "core.studies.rsa.layers.study",
        "core.studies.rsa.layers.charts",
        "core.studies.probes.trees.study",
        "core.studies.probes.trees.charts",
    ),
    *("core.studies.weights.clusters.study", "core.studies.weights.clusters.charts.figures"),
    *("core.studies.alignment.seeds.study", "core.studies.alignment.seeds.charts"),
)
_frozen: set[str] = set()

# Computes in a worker as work(progress, signal) and never calls streamlit
Work = Callable[[Callable[["Progress"], None], "Signal"], Any]


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
    """Freeze the objects of the heavy imports, once for each; return whether there were any. With
    torch loaded, each full garbage collection would hold the interpreter's lock for half a
    second."""
    new = {name for name in HEAVY if name in sys.modules} - _frozen
    if new:
        gc.collect()
        gc.freeze()
        _frozen.update(new)
    return bool(new)


def server_ends() -> bool:
    """Whether the server has been told to stop; False where there is none."""
    from streamlit.runtime import RuntimeState, get_instance  # not where only imports are asked for

    try:
        return get_instance().state in (RuntimeState.STOPPING, RuntimeState.STOPPED)
    except RuntimeError:  # there is no server
        return False


def until_server_ends(run: Work) -> Work:
    """Make the same work end as cancelled when the server is told to stop: the interpreter waits
    for its threads, and an interrupted server would stay until a running study is done."""

    def work(report: Callable[[Progress], None], signal: Signal) -> Any:
        def note(progress: Progress) -> None:
            if server_ends():
                signal.set()
            report(progress)

        try:
            return run(note, signal)
        except Exception as error:
            if server_ends():  # an interpreter that ends refuses new threads and tasks
                raise CancelledError(
                    "The server was stopped; what was computed is kept."
                ) from error
            raise

    return work
