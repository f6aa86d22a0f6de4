"""A lesson: predict, look, compare, explain; it has the same structure on every page.

Each page's texts are in a module beside this one. They state no number of the study: the numbers
that a lesson compares and cites are read from the result on the page, so that it stays correct for
other models and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.results.names import layers_in_words
from core.results.templates import fill, marked
from ui.frame.shell import PAGES
from ui.lessons.evidence import nothing

if TYPE_CHECKING:
    from core.results.export import Result

HANDOUT = Path(__file__).with_name("handout.html")


@dataclass(frozen=True)
class Guess:
    """What the reader predicts: a number on one of the figure's axes.

    Attributes:
        question: The question.
        low, high, step: Bounds and step of the slider.
        start: The slider's first value; it gives no hint.
        axis: The figure's axis of the number.
        truth: Result -> the number, or several layers that cannot be told apart; None if the study
            does not have it.
        near: Largest difference at which a guess counts as close.
        words: Writes the number with its unit.
        shown: The slider's number format.
    """

    question: str
    low: float
    high: float
    step: float
    start: float
    axis: Literal["x", "y"]
    truth: Callable[[Result], float | tuple[int, ...] | None]
    near: float
    words: Callable[[float], str]
    shown: str = "%.2f"

    def judge(self, guess: float, result: Result) -> str:
        """Compare the guess with the result; "" if the study does not have the number."""
        truth = self.truth(result)
        if truth is None:
            return ""
        if not isinstance(truth, tuple):
            nearest, shown = truth, self.words(truth)
        else:
            nearest = min(truth, key=lambda layer: abs(guess - layer))
            equal = " (not distinguishable)" if len(truth) > 1 else ""
            shown = f"{layers_in_words(truth)}{equal}"
        if abs(guess - nearest) <= self.near:
            verdict = "close to the result" if guess != nearest else "right"
        else:
            verdict = "too low" if guess < nearest else "too high"
        return f"Your guess, {self.words(guess)}, is {verdict}: the figure shows {shown}."


def layer_of(value: float) -> str:
    """Write a guessed layer: "layer 2"."""
    return f"layer {value:.0f}"


@dataclass(frozen=True)
class Try:
    """A further study: name, what to look for, options that differ from the lesson's."""

    label: str
    look_for: str
    options: Mapping[str, str | tuple[str, ...]]

    @property
    def heading(self) -> str:
        """Return the name as a sentence, which a question is already."""
        return self.label if self.label.endswith("?") else f"{self.label}."


@dataclass(frozen=True)
class Question:
    """A question, its answer, and what the figure says about it.

    Attributes:
        text: The question.
        answer: The answer, for any model and text.
        evidence: Result -> a sentence with the figure's number; "" if the study does not have it.
    """

    text: str
    answer: str
    evidence: Callable[[Result], str] = nothing

    def answered(self, result: Result) -> str:
        """Give the answer with the numbers of this result."""
        return f"{self.answer} {self.evidence(result)}".strip()


@dataclass(frozen=True)
class Lesson:
    """The lesson of one page.

    Attributes:
        page: The page's name in widget keys.
        path: The page's file.
        title: The lesson's question.
        minutes: How long it takes a class.
        background: What a reader must know before the guess.
        guess: The prediction.
        options: Options of the page in the lesson.
        explain: The explanation of the default study's result, with the rival explanations.
        tries: Further studies.
        questions: Five questions.
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

    def with_evidence(self, evidence: Sequence[Callable[[Result], str]]) -> Lesson:
        """Return the lesson with what its figure says about each question, in their order. Raises
        ValueError if there are not as many as questions."""
        pairs = zip(self.questions, evidence, strict=True)
        return replace(self, questions=tuple(replace(each, evidence=says) for each, says in pairs))


def handout(lesson: Lesson) -> bytes:
    """Write the lesson as HTML that prints on two pages, answers last, without scripts or external
    files."""
    page = next(entry.title for entry in PAGES if entry.path == lesson.path)
    return fill(HANDOUT, lesson=lesson, page=page, marked=marked)


def by_page(lessons: Iterable[Lesson]) -> dict[str, Lesson]:
    """Find each lesson by its page. Raises ValueError if a page has two."""
    pages: dict[str, Lesson] = {}
    for lesson in lessons:
        if lesson.page in pages:
            raise ValueError(f"The page {lesson.page!r} has two lessons: keep one.")
        pages[lesson.page] = lesson
    return pages
