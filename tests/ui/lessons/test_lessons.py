"""Lessons: whole, true to their pages' options, a guess before the figure and in it, a handout that
prints."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import altair as alt
import pandas as pd
import pytest
from vl_convert import vegalite_to_svg

from core.catalogue import STUDIES
from core.errors import PalimpsestError
from core.options import options_of
from core.results.estimates import Estimate
from core.results.export import Result
from core.results.statements import Statement
from core.studies.probes.trees.statements import BEST, TIED
from core.studies.rsa.layers.differences import BEYOND_RANDOM
from docs.make.studies import room_of
from ui.frame.shell import PAGES
from ui.lessons import LESSONS, link_of
from ui.lessons.evidence import EVIDENCE, nothing
from ui.lessons.guess import YOURS, Mark, marked
from ui.lessons.lesson import Guess, Question, by_page, handout, lesson_words

ROOMS = {"rsa": "rsa", "probe": "probe", "weights": "weights", "alignment": "align"}


def views_beside(name: str) -> set[str]:
    """The views of the page that a study is on."""
    room = room_of(name)
    return {view.name for each in STUDIES if room_of(each) == room for view in STUDIES[each].views}


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.page)
def test_a_lesson_is_whole_and_opens_studies_that_there_are(lesson: Any) -> None:
    assert len(lesson.words.questions) == 5
    assert lesson.guess.low < lesson.guess.high
    assert lesson.guess.low <= lesson.guess.start <= lesson.guess.high
    assert lesson.path in {entry.path for entry in PAGES}
    study = {option.name: option for option in options_of(STUDIES[ROOMS[lesson.page]].Spec)}
    opened = [{name: [value] for name, value in lesson.options.items()}]
    tried = [attempt.options for attempt in lesson.words.tries]
    assert all(tried)
    for options in opened + tried:
        for name, values in options.items():
            if name == "study":
                assert [room_of(value) for value in values] == [room_of(ROOMS[lesson.page])]
            elif name == "view":
                assert set(values) <= views_beside(ROOMS[lesson.page])
            else:
                study[name].read(values)
    assert link_of(lesson)["lesson"] == "true"


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.page)
def test_a_study_to_try_ends_in_one_mark(lesson: Any) -> None:
    for attempt in lesson.words.tries:
        assert attempt.heading.removesuffix("?").removesuffix(".")[-1].isalnum()
        assert attempt.heading in handout(lesson).decode("utf8")


def test_ninety_minutes_are_ninety() -> None:
    assert 5 + sum(lesson.minutes for lesson in LESSONS.values()) + 5 == 90


@pytest.mark.parametrize(
    ("guess", "verdict"), [(0.5, "right"), (0.45, "close"), (0.1, "too low"), (0.9, "too high")]
)
def test_a_guess_is_judged_by_the_result(guess: float, verdict: str) -> None:
    rows = {"group": ["models"], "method": ["ridge"], "words": ["unseen"], "nmse": [0.5]}
    judged = LESSONS["alignment"].guess
    said = judged.judge(guess, Result("align", {}, "", {"methods": pd.DataFrame(rows)}))
    assert verdict in said
    assert judged.words(guess) in said
    assert "50 %" in said


@pytest.mark.parametrize(
    ("guess", "verdict"), [(2, "right"), (1, "too low"), (0, "too low"), (6, "too high")]
)
def test_a_guessed_layer_is_right_at_any_layer_that_cannot_be_told_apart(
    guess: float, verdict: str
) -> None:
    asked = LESSONS["probe"].guess
    best = Statement("zoo:seed-0", BEST, Estimate(57.0, kind="points"), (2,))
    tied = Statement("zoo:seed-0", TIED, layers=(2, 3, 4))
    other = Statement("zoo:parse-0", TIED, layers=(5, 6))
    said = asked.judge(guess, Result("probe", {}, "", {}, statements=(best, other, tied)))
    assert f"is {verdict}" in said
    assert said.endswith("the figure shows layers 2 to 4 (not distinguishable).")
    ranked = replace(tied, metric="dspr")
    alone = asked.judge(guess, Result("probe", {}, "", {}, statements=(best, other, ranked)))
    assert alone.endswith("the figure shows layer 2.")
    changed = Statement("zoo:parse-0", BEYOND_RANDOM, Estimate(9.0), (2,), "zoo:seed-0")
    said = LESSONS["rsa"].guess.judge(guess, Result("rsa", {}, "", {}, statements=(changed,)))
    assert f"is {verdict}" in said
    assert said.endswith("the figure shows layer 2.")
    for page in ("rsa", "probe"):
        assert LESSONS[page].guess.judge(guess, Result("any", {}, "", {})) == ""


def test_a_study_without_the_number_says_nothing_of_the_guess() -> None:
    none = Guess(0, 1, 0.1, 0.5, "x", lambda result: None, 0.1, str)
    assert none.judge(0.5, Result("rsa", {}, "", {})) == ""


@pytest.mark.slow
@pytest.mark.parametrize("axis", ["x", "y"])
@pytest.mark.parametrize("kind", ["single", "layered", "panels"])
def test_the_guess_is_drawn_into_any_chart(axis: Any, kind: str) -> None:
    line = alt.Chart(pd.DataFrame({"a": [0, 1], "b": [0, 1]})).mark_line().encode(x="a:Q", y="b:Q")
    chart = {"single": line, "layered": alt.layer(line, line), "panels": alt.hconcat(line, line)}[
        kind
    ]
    before = chart.to_dict()
    svg = vegalite_to_svg(marked(before, Mark(axis, 0.5), "#23201b"))
    assert svg.count(YOURS) >= (2 if kind == "panels" else 1)
    assert YOURS not in vegalite_to_svg(before)


def top_similarities() -> Result:
    """Two models of which one equals its base up to layer 1, with one dimension left out."""
    rows = pd.DataFrame(
        {
            "model": ["zoo:parse-0"] * 3 + ["zoo:parse-frozen-2"] * 3,
            "layer": [0, 1, 2] * 2,
            "similarity": [0.9, 0.6, 0.25, 1.0, 1.0, 0.75],
            "low": [0.9, 0.6, 0.22, 1.0, 1.0, 0.71],
            "high": [0.9, 0.6, 0.28, 1.0, 1.0, 0.79],
            "null_low": [-0.02] * 6,
            "null_high": [0.03] * 6,
            "relative_change": [0.12] * 3 + [0.08] * 3,
        }
    )
    return Result("rsa", {"drop_rogue": 1, "standardise": False}, "", {"similarity": rows})


def test_answers_cite_the_numbers_of_the_result_on_the_page() -> None:
    lesson, result = LESSONS["rsa"], top_similarities()
    sentences = [cite(result) for cite in lesson.evidence]
    similarity, band, changes, equal, _ = sentences
    assert ".25 [.22, .28]" in similarity
    assert {"parse-0", "2"} <= set(similarity.replace(".", " ").split())
    assert ".03" in band
    assert [number in changes for number in (".25", ".12", ".75", ".08")] == [True] * 4
    assert "parse-frozen-2" in equal
    assert "parse-0" not in equal
    moved = result.tables["similarity"].assign(similarity=0.5, low=0.4, high=0.6)
    other = Result("rsa", dict(result.spec), "", {"similarity": moved})
    answer = lesson.answers(other)[0]
    assert ".50 [.40, .60]" in answer
    assert answer.startswith(lesson.words.questions[0].answer)


def test_every_question_has_its_evidence_or_says_that_there_is_none() -> None:
    assert set(EVIDENCE) == set(LESSONS)
    for page, lesson in LESSONS.items():
        assert lesson.evidence == EVIDENCE[page]
    evidence = [says for each in EVIDENCE.values() for says in each]
    assert [inspect.unwrap(says) for says in evidence].count(nothing) == 1
    with pytest.raises(PalimpsestError, match="has 5 questions and evidence for 1"):
        replace(LESSONS["rsa"], evidence=(nothing,))


def test_without_a_number_an_answer_stands_alone() -> None:
    tables = {"vectors": pd.DataFrame(), "models": pd.DataFrame()}
    empty = Result("weights", {"vector": "projector"}, "", tables)
    lesson = LESSONS["weights"]
    assert lesson.answers(empty) == [question.answer for question in lesson.words.questions]


def test_the_best_score_of_another_metric_is_no_uuas() -> None:
    """A study of depth probes alone states the accuracy of roots."""
    root = Statement("zoo:seed-0", BEST, Estimate(4.3, kind="points"), (2,))
    row = {"model": "zoo:seed-0", "probe": "depth", "metric": "root", "layer": 2, "value": 4.3}
    table = pd.DataFrame([{**row, "dev": 5.0, "low": 0.0, "high": 13.0, "sd": 0.0}])
    result = Result("probe", {}, "", {"scores": table}, statements=(root,))
    probed = SimpleNamespace(**vars(result), table=table, probes={"zoo:seed-0": None})
    evidence = LESSONS["probe"].evidence
    assert [evidence[number](probed) for number in (1, 4)] == ["", ""]


def test_a_handout_has_its_answers_on_a_page_of_their_own() -> None:
    lesson = LESSONS["probe"]
    page = handout(lesson).decode("utf8")
    questions, answers = page.split("<section class=answers>")
    assert "break-before: page" in page
    asked = lesson.words.questions
    assert all(question.text.split("?")[0][:30] in questions for question in asked)
    assert not any(question.answer[:30] in questions for question in asked)
    assert "**" not in page
    assert "<script" not in page
    assert "http" not in answers


def test_a_second_lesson_of_a_page_is_refused() -> None:
    assert by_page(LESSONS.values()) == LESSONS
    with pytest.raises(ValueError, match="'rsa' has two lessons"):
        by_page([*LESSONS.values(), LESSONS["rsa"]])


def test_words_of_a_lesson_are_read_from_a_file_that_a_teacher_edits(tmp_path: Path) -> None:
    text = (
        'title = "T?"\nbackground = "b"\nguess = "g"\nexplain = """\nOver\ntwo lines."""\n'
        '[[tries]]\nlabel = "L"\nlook_for = "l"\nlink = "?view=By layer&models=zoo:a-?&models=b"\n'
        '[[questions]]\ntext = "Why?"\nanswer = "Because."\n'
    )
    (tmp_path / "mine.toml").write_text(text, encoding="utf8")
    words = lesson_words(str(tmp_path / "mine.py"))
    assert words.explain == "Over two lines."
    assert words.questions == (Question("Why?", "Because."),)
    assert words.tries[0].options == {"view": ["By layer"], "models": ["zoo:a-?", "b"]}
    (tmp_path / "mine.toml").write_text(text.replace("answer", "anwser"), encoding="utf8")
    with pytest.raises(PalimpsestError, match=r"mine.toml: questions has 'anwser'"):
        lesson_words(str(tmp_path / "mine.py"))
