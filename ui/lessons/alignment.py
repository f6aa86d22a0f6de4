"""Whether two seeds learn the same space."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from core.results.numbers import text_of
from ui.lessons.evidence import EVIDENCE, LackingError, error_of
from ui.lessons.lesson import Guess, Lesson, lesson_words

if TYPE_CHECKING:
    from core.results.export import Result


def _ridge_predicts(result: Result) -> float | None:
    """The share of variance that ridge predicts of unseen words; None where there are none."""
    with suppress(LackingError):
        return 1 - error_of(result, "ridge").value
    return None


ALIGNMENT = Lesson(
    page="alignment",
    path="pages/seed_alignment.py",
    minutes=20,
    words=lesson_words(__file__),
    guess=Guess(
        low=0.0,
        high=1.0,
        step=0.05,
        start=0.5,
        axis="x",
        truth=_ridge_predicts,
        near=0.1,
        words=partial(text_of, kind="per cent"),
        shown="percent",
    ),
    evidence=EVIDENCE["alignment"],
    options={},
)
