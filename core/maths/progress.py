"""What a long computation reports to its caller: how far it is, and a state to resume from.

Mathematics knows no runs: it calls these functions, and who runs it sets a listener
(`core.runs.tasks`). Without one nothing is told and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from core.maths.arrays import Value


class SavedState:
    """The place where a long computation keeps its state; this one keeps nothing."""

    @property
    def due(self) -> bool:
        """Whether it is time to store the state again."""
        return False

    @property
    def long(self) -> bool:
        """Whether the computation has lasted long enough for its final state to be stored."""
        return False

    def find(self) -> Value | None:
        """Load the state that an earlier run of the same computation left; None without one."""
        return None

    def keep(self, state: Value) -> None:
        """Store `state` in place of the previous one."""


class Listener(Protocol):
    """Who runs a computation, in its thread."""

    def tick(self, fraction: float, note: str) -> None:
        """Take note of the progress; see `tick`."""

    def check(self) -> None:
        """Raise if the run was cancelled; see `check`."""

    def part(self, low: float, high: float) -> Listener:
        """Return the listener of a part of the computation."""

    def checkpoint(self, form: str) -> SavedState:
        """Return the computation's next checkpoint."""


LISTENER: ContextVar[Listener | None] = ContextVar("palimpsest_listener", default=None)


def tick(fraction: float, note: str = "") -> None:
    """Report progress; call it every second or so.

    Args:
        fraction: Between 0 and 1, of the computation or of the innermost `span`.
        note: What is being done, in a few words.

    Raises:
        CancelledError: If the run was cancelled. Let it pass.
    """
    listener = LISTENER.get()
    if listener is not None:
        listener.tick(fraction, note)


def check() -> None:
    """Report nothing, and hear whether the run was cancelled: for waits within a computation.

    Raises:
        CancelledError: If the run was cancelled. Let it pass.
    """
    listener = LISTENER.get()
    if listener is not None:
        listener.check()


@contextmanager
def span(low: float, high: float) -> Iterator[None]:
    """Map `tick(0)` to `tick(1)` inside the block to `low` to `high` outside."""
    listener = LISTENER.get()
    token = LISTENER.set(listener and listener.part(low, high))
    try:
        yield
    finally:
        LISTENER.reset(token)


def checkpoint(form: str) -> SavedState:
    """Return the place where the current computation keeps its state.

    A computation asks for its checkpoints in the same order whenever it runs.

    Args:
        form: What the state holds, with a version, such as "probes.bank/1"; another form is not
            found.
    """
    listener = LISTENER.get()
    return SavedState() if listener is None else listener.checkpoint(form)
