"""A class's guesses: one per session, bounded, forgotten after a while, drawn into the figure."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from ui.lessons import LESSONS, guesses
from ui.lessons.guess import DOT, MOST_DOTS, Mark, marked
from ui.lessons.guesses import BINS, count_guesses, guesses_of, note_guess


@pytest.fixture(autouse=True)
def _empty() -> Iterator[None]:
    guesses._guesses.begin()
    yield
    guesses._guesses.begin()


def guess_as(monkeypatch: pytest.MonkeyPatch, session: str, value: float) -> None:
    context = SimpleNamespace(session_id=session)
    monkeypatch.setattr(guesses, "get_script_run_ctx", lambda: context)
    note_guess("rsa", value)


def test_the_last_guess_of_each_session_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    for session, value in (("a", 0.1), ("b", 0.2), ("a", 0.3)):
        guess_as(monkeypatch, session, value)
    assert guesses_of("rsa") == [0.2, 0.3]
    assert guesses_of("probe") == []


def test_guesses_are_bounded_and_grow_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guesses, "MOST_SESSIONS", 3)
    for number in range(5):
        guess_as(monkeypatch, str(number), number / 10)
    assert guesses_of("rsa") == [0.2, 0.3, 0.4]
    now = guesses.time.monotonic()
    monkeypatch.setattr(guesses, "time", SimpleNamespace(monotonic=lambda: now + guesses.LIFE + 1))
    assert guesses_of("rsa") == []


@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.page)
def test_every_guess_that_the_slider_allows_is_counted_near_its_place(lesson) -> None:
    asked = lesson.guess
    steps = round((asked.high - asked.low) / asked.step)
    every = [asked.low + number * asked.step for number in range(steps + 1)]
    counted = count_guesses(every, asked)
    assert sum(count for _, count in counted) == len(every)
    assert len(counted) <= BINS + 1
    assert all(asked.low <= value <= asked.high for value, _ in counted)
    for guess in every:
        ((value, count),) = count_guesses([guess, guess], asked)
        assert count == 2
        assert abs(value - guess) <= asked.step * max(1, steps / BINS)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_guesses_are_rows_of_dots_at_their_values(axis) -> None:
    mark = Mark(axis, 0.5, crowd=((0.2, 3), (0.8, 50)))
    layers = marked({"layer": []}, mark, "black")["layer"][2:]
    assert [layer["encoding"][axis]["datum"] for layer in layers] == [0.2, 0.8]
    assert [layer["mark"]["text"] for layer in layers] == [DOT * 3 + " 3", DOT * MOST_DOTS + " 50"]
    assert len(marked({"layer": []}, Mark(axis, 0.5), "black")["layer"]) == 2
