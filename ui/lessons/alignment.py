"""Whether two seeds learn the same space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.results.numbers import text_of
from ui.lessons.lesson import Guess, Lesson, Question, Try

if TYPE_CHECKING:
    from core.results.export import Result


def _ridge_error(result: Result) -> float | None:
    """Ridge's share of unexplained variance on words that no map was fitted on."""
    table = result.tables["methods"]
    rows = table[(table["group"] == "models") & (table["method"] == "ridge") & (table["words"] == "unseen")]
    return float(rows["nmse"].iloc[0]) if len(rows) else None


ALIGNMENT = Lesson(
    page="alignment",
    path="pages/seed_alignment.py",
    title="Do two seeds learn the same space?",
    minutes=20,
    background=(
        "Two models read the same text with the same recipe; only the random seed differs. Their vectors have nothing "
        "in common at first sight. We fit maps from one space into the other on some words and judge them on words "
        "that no map has seen. The error is the share of the target's variance that is left: 0 is perfect, 1 is no "
        "better than always saying the mean."
    ),
    guess=Guess(
        question="What **error** does ridge, a linear map, leave on words that it has never seen?",
        low=0.0,
        high=1.0,
        step=0.05,
        start=0.5,
        axis="x",
        truth=_ridge_error,
        near=0.1,
        words=text_of,
    ),
    options={},
    explain=(
        "About how much carries over is a matter of the words. On words that were seen in training even a table of "
        "mean vectors by word, which looks at no source at all, leaves little; on new words that table is worth "
        "nothing, and what a map does there is what the spaces share. Whether the remaining error means that the "
        "spaces differ, or that there were too few words to learn the map from, the error alone does not say."
    ),
    tries=(
        Try(
            "Judged on words that were seen",
            "How much better do the maps look when only the sentences are new?",
            {"split": "sentence"},
        ),
        Try("Which layer is most alike?", "Is it the lowest, and why could that be?", {"view": "By layer"}),
        Try(
            "Can the method find a bijection that is there?",
            "Here the answer is known: one space is a bent copy of the other. Which maps find that out?",
            {"view": "Bijection check"},
        ),
    ),
    questions=(
        Question(
            "Without a map the error is above 1. How can anything be worse than saying the mean?",
            "The vectors of the other model point somewhere else entirely; predicting them adds their own variance to "
            "what was to be explained.",
        ),
        Question(
            "Why is a lookup table among the maps?",
            "It knows which word it is and nothing of the space. Whatever does no better than it may have learned "
            "words rather than a map between spaces.",
        ),
        Question(
            "A network that cannot be inverted has the lowest error. Does that show a bijection?",
            "No. It may throw information away on the way. Only a map that can be undone, and whose inverse is as "
            "good, speaks for a bijection.",
        ),
        Question(
            "Five seeds give twenty directed pairs. Are those twenty samples?",
            "They are five models; each is in eight pairs. The band therefore leaves out one model at a time.",
        ),
        Question(
            "A sentence travels up one model, through a map, and on through the other one. Why is the accuracy then a "
            "stronger test than the error?",
            "The upper layers use some directions much and others little. An error weighs all alike; accuracy asks "
            "only whether the map keeps what the other model reads.",
        ),
    ),
)
