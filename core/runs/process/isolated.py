"""One question to a module in a process of its own, which ends with the answer.

A caller with many questions in a row keeps an `isolation.Apart`, as tokenizers do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.runs.process.isolation import Apart, ApartAnswerError, Patience

SILENCE = (
    120.0  # seconds without a reply, where the machine is busy or keeps no limit of processor time
)
IDLE = 10.0  # seconds in which its process does nothing: a thread that found no memory stops others


@dataclass(frozen=True)
class Bounds:
    """Limits of a question.

    Attributes:
        memory: Bytes that the process may take, Python and its imports included.
        seconds: Of processor time, the imports included.
        characters: Of the answer, as JSON.
    """

    memory: int
    seconds: float
    characters: int = 2**20


def call(module: str, request: object, bounds: Bounds, note: str) -> Any:
    """Ask a module, whose `answer(request)` yields one reply (see `isolation.Apart`), for it within
    bounds; the note is for a progress bar. Raises RefusedError with the sentence of the
    `PalimpsestError` that the module raised; ApartTimeoutError if it takes too long;
    ApartAnswerError if the answer is too long, or not one reply; ApartError if the process ended by
    its memory limit or a fault; CancelledError if the run is cancelled."""
    process = Apart(module, bounds.memory)
    patience = Patience(SILENCE, SILENCE + bounds.seconds, bounds.seconds, IDLE)
    try:
        replies = list(process.ask(request, patience, note, bounds.characters))
    finally:
        process.close()
    if len(replies) != 1:
        raise ApartAnswerError
    return replies[0]
