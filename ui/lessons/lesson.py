"""A lesson: predict, look, compare, explain; it has the same structure on every page.

What a lesson says stands in a TOML file beside this module, such as `rsa.toml`, and is edited
without Python; how its guess is judged stands in the module of that name. Its words state no number
of the study: the numbers that a lesson compares and cites are read from the result on the page, so
that it stays correct for other models and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs

from core.errors import PalimpsestError
from core.results.names import layers_in_words
from core.results.templates import fill, marked
from core.results.words import as_record, read_toml
from ui.frame.shell import PAGES

if TYPE_CHECKING:
    from core.results.export import Result

HANDOUT = Path(__file__).with_name("handout.html")


@dataclass(frozen=True)
class Guess:
    """What the reader predicts: a number on one of the figure's axes.

    Attributes:
        low, high, step: Bounds and step of the slider.
        start: The slider's first value; it gives no hint.
        axis: The figure's axis of the number.
        truth: Result -> the number, or several layers that cannot be told apart; None if the study
            does not have it.
        near: Largest difference at which a guess counts as close.
        words: Writes the number with its unit.
        shown: The slider's number format.
    """

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
    """A further study.

    Attributes:
        label: Its name.
        look_for: What to look for.
        link: What stands behind its page's address, such as "view=Rank&models=zoo:seed-0".
    """

    label: str
    look_for: str
    link: str

    @property
    def heading(self) -> str:
        """Return the name as a sentence, which a question is already."""
        return self.label if self.label.endswith("?") else f"{self.label}."

    @property
    def options(self) -> dict[str, list[str]]:
        """Return the options in the link, each with its values."""
        return parse_qs(self.link.removeprefix("?"))


@dataclass(frozen=True)
class Question:
    """A question and its answer, for any model and text."""

    text: str
    answer: str


@dataclass(frozen=True)
class LessonWords:
    """What a lesson says.

    Attributes:
        title: Its question.
        background: What a reader must know before the guess.
        guess: What the reader is asked to predict.
        explain: The explanation of the default study's result, with the rival explanations.
        tries: Further studies.
        questions: Five questions.
    """

    title: str
    background: str
    guess: str
    explain: str
    tries: tuple[Try, ...]
    questions: tuple[Question, ...]


def lesson_words(module: str) -> LessonWords:
    """Read the words of a lesson, in the file beside its module (`__file__`)."""
    path = Path(module).with_suffix(".toml")
    return as_record(LessonWords, read_toml(path), str(path))


@dataclass(frozen=True)
class Lesson:
    """The lesson of one page.

    Attributes:
        page: The page's name in widget keys.
        path: The page's file.
        minutes: How long it takes a class.
        words: What it says.
        guess: The prediction.
        evidence: Result -> a sentence with the figure's number for each question, in their order;
            "" if the study does not have it.
        options: Options of the page in the lesson.
    """

    page: str
    path: str
    minutes: int
    words: LessonWords
    guess: Guess
    evidence: tuple[Callable[[Result], str], ...]
    options: Mapping[str, str]

    def __post_init__(self) -> None:
        questions, evidence = len(self.words.questions), len(self.evidence)
        if questions != evidence:
            raise PalimpsestError(
                f"The lesson {self.words.title!r} has {questions} questions and evidence for "
                f"{evidence}: name one for each in evidence.py, in their order."
            )

    def answers(self, result: Result) -> list[str]:
        """Answer each question, with the numbers of this result."""
        pairs = zip(self.words.questions, self.evidence, strict=True)
        return [f"{question.answer} {cite(result)}".strip() for question, cite in pairs]


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
