"""Whether two seeds learn the same space."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from core.results.numbers import text_of
from ui.lessons.evidence import LackingError, error_of
from ui.lessons.lesson import Guess, Lesson, Question, Try

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
    title="Do two seeds learn the same space?",
    minutes=20,
    background=(
        "Two models were trained on the same text with the same recipe; only the random seed "
        "differs. At first sight their vectors have nothing in common. We fit maps from one space "
        "into the other on some words and evaluate them on words that they have not seen, by the "
        "share of the target's variance that a map predicts: 100 % is perfect, and 0 is no better "
        "than always predicting the mean. What is left unexplained is the map's error."
    ),
    guess=Guess(
        question=(
            "What **share of the variance** does ridge, a linear map, predict on words that it has "
            "not seen?"
        ),
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
    options={},
    explain=(
        "How well a map does depends on the words. For words seen in training, even a per-word "
        "average, which ignores the source model, has a low error; for new words it predicts "
        "nothing, and what a map still predicts is what the two spaces share. Most of that can be "
        "predicted from the embeddings of neighbouring words alone: see the view *What the layers "
        "add*. The error alone does not tell whether the rest is a real difference between the "
        "spaces or a lack of words to learn the map from."
    ),
    tries=(
        Try(
            "Hold out sentences instead of words",
            "How much lower are the errors when most test words also occur in training?",
            {"split": "sentence"},
        ),
        Try(
            "Compare the layers",
            "At which layer is the error lowest? Is it among the first, and why could that be?",
            {"view": "By layer"},
        ),
        Try(
            "Let the maps find a known bijection",
            "Here one space is a transformed copy of the other, so a bijection exists. Which maps "
            "find it?",
            {"study": "align check"},
        ),
        Try(
            "Average the two models",
            "Halfway between the weights of two seeds, how much higher is the loss than the mean "
            "of both ends? How much of that is left once units and heads are matched, and what "
            "does a random order do?",
            {"study": "align barrier"},
        ),
        Try(
            "Two decoders",
            "They predict the next word. Is the error of ridge lower or higher than between two "
            "masked models, and is the error of the static window as well?",
            {"models": ("zoo:decoder-0", "zoo:decoder-1")},
        ),
    ),
    questions=(
        Question(
            "Without a map the error is above 1. How can a prediction be worse than the mean?",
            "The vectors of the two models point in unrelated directions. Taking one for the other "
            "adds the source's variance to the variance that was to be explained.",
        ),
        Question(
            "Why is the per-word average among the maps?",
            "It knows which word it sees and nothing about the source's vectors. A map that does "
            "no better may have learned words rather than a relation between the spaces.",
        ),
        Question(
            "A map that cannot be inverted has the lowest error. Does that show a bijection?",
            "No. Such a map may discard information. Only a map that can be inverted, and whose "
            "inverse is as accurate, is evidence of a bijection.",
        ),
        Question(
            "Five seeds give twenty directed pairs. Are these twenty independent samples?",
            "No. There are five models, and each is in eight of the pairs. The interval is "
            "therefore computed by leaving out one model at a time.",
        ),
        Question(
            "In stitching, a sentence is processed by the lower layers of one model, a map, and "
            "the upper layers of another. Why is accuracy a different test from the error?",
            "The upper layers use some directions much and others hardly at all. The error counts "
            "all directions alike; accuracy depends only on the directions that the other model "
            "uses.",
        ),
    ),
)
