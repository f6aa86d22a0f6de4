"""Lesson of the RSA page: which layers fine-tuning changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.studies.rsa.layers.differences import BEYOND_RANDOM, CHANGED_MOST
from ui.lessons.evidence import EVIDENCE
from ui.lessons.lesson import Guess, Lesson, layer_of, lesson_words

if TYPE_CHECKING:
    from core.results.export import Result


def _changed_layers(result: Result) -> tuple[int, ...] | None:
    """Find the layers of the first model that changed most and cannot be told apart; None if no
    layer functions were compared."""
    layers = (
        each.layers for each in result.statements if each.verdict in (BEYOND_RANDOM, CHANGED_MOST)
    )
    return next(layers, None)


RSA = Lesson(
    page="rsa",
    path="pages/rsa.py",
    minutes=20,
    words=lesson_words(__file__),
    guess=Guess(
        low=0,
        high=6,
        step=1,
        start=0,
        axis="x",
        truth=_changed_layers,
        near=0,  # a layer outside the set is distinguishable from those in it
        words=layer_of,
        shown="%.0f",
    ),
    evidence=EVIDENCE["rsa"],
    options={},
)
