"""Lessons: whole, true to their pages' options, a guess before the figure and in it, a handout that prints."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd
import pytest
from vl_convert import vegalite_to_svg

from core.catalogue import STUDIES
from core.options import options_of
from core.results.export import Result
from ui.frame.shell import PAGES
from ui.lessons import LESSONS, link_of
from ui.lessons.guess import YOURS, Mark, marked
from ui.lessons.handout import handout
from ui.lessons.lesson import Guess

ROOMS = {"rsa": "rsa", "probe": "probe", "weights": "weights", "alignment": "align"}


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.page)
def test_a_lesson_is_whole_and_opens_studies_that_there_are(lesson: Any) -> None:
    assert len(lesson.questions) == 5
    assert lesson.guess.low < lesson.guess.high
    assert lesson.guess.low <= lesson.guess.start <= lesson.guess.high
    assert lesson.path in {entry.path for entry in PAGES}
    study = {option.name: option for option in options_of(STUDIES[ROOMS[lesson.page]].Spec)}
    for options in (lesson.options, *(one.options for one in lesson.tries)):
        for name, value in options.items():
            if name != "view":
                study[name].read([value] if isinstance(value, str) else list(value))
    assert link_of(lesson)["lesson"] == "true"


def test_ninety_minutes_are_ninety() -> None:
    assert 5 + sum(lesson.minutes for lesson in LESSONS.values()) + 5 == 90


@pytest.mark.parametrize(("guess", "verdict"), [(0.5, "close"), (0.1, "too low"), (0.9, "too high")])
def test_a_guess_is_judged_by_the_result(guess: float, verdict: str) -> None:
    rows = pd.DataFrame({"layer": [0, 1, 1], "similarity": [1.0, 0.4, 0.6]})
    said = LESSONS["rsa"].guess.judge(guess, Result("rsa", {}, "", {"similarity": rows}))
    assert said.endswith(f"it is .50: {verdict}.")


def test_a_study_without_the_number_says_nothing_of_the_guess() -> None:
    none = Guess("?", 0, 1, 0.1, 0.5, "x", lambda result: None, 0.1, str)
    assert none.judge(0.5, Result("rsa", {}, "", {})) == ""


@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("kind", ["single", "layered", "panels"])
def test_the_guess_is_drawn_into_any_chart(axis: Any, kind: str) -> None:
    line = alt.Chart(pd.DataFrame({"a": [0, 1], "b": [0, 1]})).mark_line().encode(x="a:Q", y="b:Q")
    chart = {"single": line, "layered": alt.layer(line, line), "panels": alt.hconcat(line, line)}[kind]
    before = chart.to_dict()
    svg = vegalite_to_svg(marked(before, Mark(axis, 0.5), "#23201b"))
    assert svg.count(YOURS) >= (2 if kind == "panels" else 1)
    assert YOURS not in vegalite_to_svg(before)


def test_a_handout_has_its_answers_on_a_page_of_their_own() -> None:
    lesson = LESSONS["probe"]
    page = handout(lesson).decode("utf8")
    questions, answers = page.split("<section class=answers>")
    assert "break-before: page" in page
    assert all(one.text.split("?")[0][:30] in questions for one in lesson.questions)
    assert not any(one.answer[:30] in questions for one in lesson.questions)
    assert "**" not in page
    assert "<script" not in page
    assert "http" not in answers
