"""A lesson: predict before you look, look, compare, explain; the same shape on every page.

The texts stand in one module a page beside this one. A lesson never states a number of the study: what is compared is
read from the result that the page shows, so that a lesson stays true for other models and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from core.results.export import Result


@dataclass(frozen=True)
class Guess:
    """What a reader predicts, as a number on an axis of the figure.

    Attributes:
        question: What is predicted.
        low, high, step: Bounds and step of the slider.
        start: Where it stands at first; no hint.
        axis: The figure's axis on which the number lies.
        truth: Reads the number off a result; None where the study has it not.
        near: Difference up to which a guess counts as close.
        words: Writes the number with its unit.
        shown: How the slider writes it.
    """

    question: str
    low: float
    high: float
    step: float
    start: float
    axis: Literal["x", "y"]
    truth: Callable[[Result], float | None]
    near: float
    words: Callable[[float], str]
    shown: str = "%.2f"

    def judge(self, guess: float, result: Result) -> str:
        """What came of the guess, in a sentence or two; "" where the study cannot say."""
        truth = self.truth(result)
        if truth is None:
            return ""
        if abs(guess - truth) <= self.near:
            verdict = "close"
        else:
            verdict = "too low" if guess < truth else "too high"
        return f"You said {self.words(guess)}; it is {self.words(truth)}: {verdict}."


@dataclass(frozen=True)
class Try:
    """One more study to run: what to look for, and the page's options that differ from the lesson's own."""

    label: str
    look_for: str
    options: Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True)
class Question:
    """A question to answer before its answer is unfolded."""

    text: str
    answer: str


@dataclass(frozen=True)
class Lesson:
    """One page's lesson.

    Attributes:
        page: The page's name, as in its address.
        path: The page's file.
        title: What it is about.
        minutes: How long it takes a class.
        background: What must be known before the guess.
        guess: The prediction.
        options: What the page is opened with.
        explain: Why it comes out so, for what the default study shows, with what would explain it otherwise.
        tries: Studies to run next.
        questions: Five of them.
    """

    page: str
    path: str
    title: str
    minutes: int
    background: str
    guess: Guess
    options: Mapping[str, str | tuple[str, ...]]
    explain: str
    tries: tuple[Try, ...]
    questions: tuple[Question, ...]
