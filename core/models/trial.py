"""Configurations of strangers, tried in a separate process before a model is made of them.

The numbers of a configuration decide how many modules transformers makes, one after another in
Python, and what a forward pass computes; neither can be interrupted. So the model is made in a
process of its own first, with limits of memory and time, without weights; see `counting`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
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
    ApartError,
    ApartTimeoutError,
    Patience,
    RefusedError,
)
from core.runs.process.persistent import PersistentProcess

MEMORY, MEMORY_SHARED = 2**31, 2**30  # bytes that the trial may take, libraries included
SECONDS = 30.0  # of processor time, of which the import of the libraries takes three
OTHER_WORDS = {"padding_idx": "pad_token_id"}  # what torch calls a setting -> its key
SHORT = 3  # letters of a key that an error may contain by chance
# a configuration may ask for this many times what its weights hold: a pooler, two bytes a number
UNEXPLAINED = 4
# seconds for which the process waits for another model; a shared host of 1 GB has no room for it
# beside a model
REST, REST_SHARED = 60.0, 0.0

_trials = PersistentProcess(
    "core.models.loading.counting",
    partial(tick, 0.0, "waiting for another model's configuration"),
    HF_HUB_OFFLINE="1",
)


def check_implied(ref: ModelRef, folder: Path, factory: str, held: int) -> None:
    """Try the configuration of a model that is not included, before anything else of it is opened.
    Raises ModelError if it makes none, or one that does more than its size explains, needs more
    memory than allowed, or holds more than the parameters of its weights explain."""
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
    """Count the four-byte numbers of the model that transformers' `factory` makes of a folder's
    configuration, without its weights. Raises ModelError if it makes none, or one of more modules,
    memory or work than its size explains."""
    request = {"ref": ref, "folder": str(folder.resolve()), "factory": factory}
    patience = Patience(SILENCE, SILENCE + SECONDS, SECONDS, IDLE)
    note = f"reading the configuration of {ref}"
    memory, rest = (MEMORY_SHARED, REST_SHARED) if current_limits().shared else (MEMORY, REST)
    try:
        (numbers,) = _trials.ask(request, patience, note, memory=memory, rest=rest)
    except RefusedError as error:
        raise ModelError(str(error)) from None
    except ApartError as error:
        resource = "time" if isinstance(error, ApartTimeoutError) else "memory"
        raise ModelError(
            f"The configuration of {ref} describes a model that takes more {resource} to set up "
            "than any model does: correct its sizes, or choose another model."
        ) from None
    return int(numbers)


@contextmanager
def making(ref: str, settings: Mapping[str, Any]) -> Iterator[None]:
    """Raise ModelError, inside the block, for a configuration of which no model can be made, or
    none that runs; the settings that transformers' error names are said."""
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
