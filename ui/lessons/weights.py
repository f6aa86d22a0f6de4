"""Lesson: what a model was fine-tuned on, from its weights."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from core.results.numbers import text_of
from ui.lessons.evidence import EVIDENCE, LackingError, shares_of
from ui.lessons.lesson import Guess, Lesson, lesson_words

if TYPE_CHECKING:
    from core.results.export import Result


def _shared_labels(result: Result) -> float | None:
    """Share of nearest neighbours with the same label, by the study's vector and k."""
    with suppress(LackingError):
        return shares_of(result, str(result.spec["vector"]))[0].value
    return None


WEIGHTS = Lesson(
    page="weights",
    path="pages/weight_clustering.py",
    minutes=15,
    words=lesson_words(__file__),
    guess=Guess(
        low=0.0,
        high=1.0,
        step=0.05,
        start=0.5,
        axis="y",
        truth=_shared_labels,
        near=0.1,
        words=partial(text_of, kind="per cent"),
        shown="percent",
    ),
    evidence=EVIDENCE["weights"],
    options={"view": "Neighbours"},
)
