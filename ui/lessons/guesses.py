"""A class's guesses: what the sessions of this server predicted in the last hours, without names.

Only the numbers are kept, in the memory of the process, the last of each session; they are shown
to those who have guessed themselves.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.runs.process.remembered import Memory

if TYPE_CHECKING:
    from ui.lessons.lesson import Guess

MOST_LESSONS, MOST_SESSIONS = 16, 500
LIFE = 2 * 60 * 60.0  # seconds that a guess is kept
BINS = 20  # most
Guesses = Mapping[str, tuple[float, float]]  # session -> time, guess
_guesses: Memory[Guesses] = Memory(MOST_LESSONS)
_lock = threading.Lock()


def note_guess(page: str, guess: float) -> None:
    """Keep this session's guess in a page's lesson, in place of its earlier one."""
    context = get_script_run_ctx()
    session = context.session_id if context is not None else ""
    with _lock:
        others = {name: kept for name, kept in _recent(page).items() if name != session}
        kept = {**others, session: (time.monotonic(), guess)}
        _guesses.put(page, dict(list(kept.items())[-MOST_SESSIONS:]))


def guesses_of(page: str) -> list[float]:
    """List the guesses in a page's lesson, the latest last."""
    return [guess for _, guess in _recent(page).values()]


def _recent(page: str) -> dict[str, tuple[float, float]]:
    now = time.monotonic()
    kept = _guesses.fresh(page) or {}
    return {name: each for name, each in kept.items() if now - each[0] < LIFE}


def count_guesses(guesses: Sequence[float], asked: Guess) -> tuple[tuple[float, int], ...]:
    """Count guesses in steps of the slider, joined to at most BINS: the middle and number of each
    bin that has any.

    Example:
        >>> from ui.lessons.rsa import RSA
        >>> count_guesses([0.1, 0.1, 0.9], RSA.guess)
        ((0.1, 2), (0.9, 1))
    """
    steps = round((asked.high - asked.low) / asked.step)
    width = asked.step * max(1, -(-steps // BINS))
    bins = Counter(round((guess - asked.low) / width) for guess in guesses)
    return tuple(
        (round(min(asked.low + place * width, asked.high), 9), count)
        for place, count in sorted(bins.items())
    )
