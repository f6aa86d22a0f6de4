"""The remaining time of a list of jobs, estimated from the finished ones."""

from __future__ import annotations

from collections.abc import Iterable

# tokens per second on one thread of the machine that trained the included models
PRETRAINING_TOKENS = 7_500
FINETUNING_STEP = 0.12  # seconds of one thread
PARSER_STEP = 0.35
QUESTION = 0.03  # seconds of one thread


class Countdown:
    """Seconds left, corrected for this machine's speed as jobs finish.

    A job whose result was there already takes no time and says nothing about the speed.
    """

    def __init__(self, expected: Iterable[float], at_once: int) -> None:
        waiting = list(expected)
        self.total = len(waiting)
        self.finished = 0
        self._waiting = sum(waiting)
        self._at_once = at_once
        self._worked = self._foreseen = 0.0

    def finish(self, expected: float, seconds: float | None) -> None:
        """Note that a job is done that was expected to take so many seconds of one thread, and took
        so many by the clock (None if there was nothing to do)."""
        self.finished += 1
        self._waiting -= expected
        if seconds is not None:
            self._worked += seconds
            self._foreseen += expected

    @property
    def left(self) -> float:
        """Estimate the seconds by the clock until all is done, if jobs were evenly spread over
        those that run at once."""
        pace = self._worked / self._foreseen if self._foreseen else 1.0
        return max(0.0, self._waiting) * pace / self._at_once

    def __str__(self) -> str:
        """Write it as in "3 of 34 done, about 52 min left"."""
        return f"{self.finished} of {self.total} done, about {self.left / 60:.0f} min left"
