"""Configurations of strangers, tried in a separate process before a model is made of them.

The numbers of a configuration decide how many modules transformers makes, one after another in
Python, and what a forward pass computes; neither can be interrupted. So the model is made in a
process of its own first, with limits of memory and time, without weights; see `counting`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.errors import ModelError, PalimpsestError
from core.limits import current_limits
from core.maths.progress import tick
from core.models.describing import too_large
from core.models.files.layout import CONFIG
from core.models.references import ModelRef
from core.runs.process.isolation import (
    IDLE,
    SILENCE,
    Apart,
    ApartError,
    ApartTimeoutError,
    Patience,
    RefusedError,
)

MEMORY, MEMORY_SHARED = 2**31, 2**30  # bytes that the trial may take, libraries included
SECONDS = 30.0  # of processor time, of which the import of the libraries takes three
OTHER_WORDS = {"padding_idx": "pad_token_id"}  # what torch calls a setting -> its key
SHORT = 3  # letters of a key that an error may contain by chance
LOOK_UP_SECONDS = 0.25  # how often a waiting run checks whether it was cancelled
# a configuration may ask for this many times what its weights hold: a pooler, two bytes a number
UNEXPLAINED = 4
# for which the process waits for another model, where memory is not shared
IDLE_SECONDS = 60.0


def check_implied(ref: ModelRef, folder: Path, factory: str, held: int) -> None:
    """Try the configuration of a model that is not included, before anything else of it is opened.

    Args:
        ref: Its reference.
        folder: Holds it.
        factory: Name of transformers' class, or of its chooser of classes.
        held: Parameters of its weights.

    Raises:
        ModelError: If no model can be made of it, or one that does more than its size explains,
            needs more memory than allowed, or more than its weights explain.
    """
    if ref.kind == "zoo":
        return
    implied = implied_numbers(str(ref), folder, factory)
    most = current_limits().max_parameters
    if implied > most:
        raise too_large(ref, implied, most)
    if implied > UNEXPLAINED * held + 1_000_000:
        raise ModelError(
            f"The configuration of {ref} asks for {implied / 1e6:,.0f} million parameters, and its "
            f"weights hold {held / 1e6:,.1f} million: they do not belong together; choose another."
        )


def implied_numbers(ref: str, folder: Path, factory: str) -> int:
    """Count the four-byte numbers of the model that a folder's configuration describes, as
    transformers' class or chooser of classes makes it; its weights are not read. Raises ModelError
    if no model can be made of it, or one that takes more modules, memory or work than a model of
    its size does; CancelledError if the run is cancelled."""
    request = {"ref": ref, "folder": str(folder.resolve()), "factory": factory}
    try:
        return int(_trials.ask(request, f"reading the configuration of {ref}"))
    except RefusedError as error:
        raise ModelError(str(error)) from None
    except ApartError as error:
        resource = "time" if isinstance(error, ApartTimeoutError) else "memory"
        raise ModelError(
            f"The configuration of {ref} describes a model that takes more {resource} to set up "
            "than any model does: correct its sizes, or choose another model."
        ) from None


@contextmanager
def making(ref: str, settings: Mapping[str, Any]) -> Iterator[None]:
    """Refuse a configuration of which no model can be made, or none that runs, inside the block.

    Args:
        ref: What the model is called in sentences.
        settings: Of config.json; those that transformers' error names are said.

    Raises:
        ModelError: For whatever else transformers and torch raise.
    """
    try:
        yield
    except (PalimpsestError, MemoryError):
        raise
    except Exception as error:
        message = str(error).lower()
        names = [
            key
            for key, value in settings.items()
            if (len(key) > SHORT and key.lower() in message) or str(error) == repr(value)
        ]
        names += [key for word, key in OTHER_WORDS.items() if word in message]
        named = f" (look at {', '.join(names[:3])})" if names else ""
        raise ModelError(
            f"The {CONFIG} of {ref} makes no {settings['model_type']} model that runs{named}: "
            "correct its settings, or choose another model."
        ) from error


class _Trials:
    """The process that tries configurations, one at a time.

    On a shared instance it ends after each: a host of 1 GB has no room for it beside a model.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: Apart | None = None
        self._end: threading.Timer | None = None

    def ask(self, request: dict[str, Any], note: str) -> Any:
        """Ask for the reply to a request; see `Apart.ask`."""
        shared = current_limits().shared
        patience = Patience(SILENCE, SILENCE + SECONDS, SECONDS, IDLE)
        while not self._turn.acquire(timeout=LOOK_UP_SECONDS):
            tick(0.0, "waiting for another model's configuration")
        try:
            if self._process is None or not self._process.alive:
                memory = MEMORY_SHARED if shared else MEMORY
                self._process = Apart(
                    "core.models.loading.workload.counting", memory, HF_HUB_OFFLINE="1"
                )
            (reply,) = self._process.ask(request, patience, note)
            return reply
        finally:
            if self._end is not None:
                self._end.cancel()
            if shared:
                self._close()
            else:
                self._end = threading.Timer(IDLE_SECONDS, self._close_unused)
                self._end.daemon = True
                self._end.start()
            self._turn.release()

    def _close_unused(self) -> None:
        with self._turn:
            self._close()

    def _close(self) -> None:
        if self._process is not None:
            self._process.close()


_trials = _Trials()
