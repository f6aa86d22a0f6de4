"""A process of its own: where it finds its modules, and that its end is one error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from core.runs.process.isolation import (
    IDLE,
    SILENCE,
    Apart,
    ApartAnswerError,
    ApartError,
    ApartTimeoutError,
    BusyError,
    Patience,
    RefusedError,
)

QUICKLY = Patience(silence=60.0, deadline=60.0)
MODULE = """
import json
import statistics

def answer(request):
    yield {"median": statistics.median(request), "file": statistics.__file__}
"""


def test_it_finds_its_modules_from_any_directory_and_shadows_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package's folder is no place to import from: its `statistics` is not Python's."""
    (tmp_path / "asked.py").write_text(MODULE, encoding="utf8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = Apart("asked", 2**30)
    (said,) = process.ask([3, 1, 2], QUICKLY, "asking")
    process.close()
    assert said["median"] == 2
    assert Path(said["file"]).parent == Path(os.__file__).parent


SLEEPER = """
import time

def answer(request):
    until = time.process_time() + request
    while time.process_time() < until:
        pass
    yield "worked"
    time.sleep(60)
"""


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows what a process does")
def test_a_process_that_does_nothing_is_ended_and_one_that_works_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sleeper.py").write_text(SLEEPER, encoding="utf8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = Apart("sleeper", 2**30)
    replies = process.ask(1.5, Patience(60.0, 60.0, idle=0.5), "asking")
    assert next(replies) == "worked"
    with pytest.raises(ApartError) as ended:
        next(replies)
    assert not isinstance(ended.value, ApartTimeoutError)
    assert not process.alive


def test_a_module_that_is_not_there_is_one_error() -> None:
    process = Apart("core.nowhere", 2**30)
    with pytest.raises(ApartError):
        list(process.ask(1, QUICKLY, "asking"))
    process.close()


TALKER = """
from core.errors import ModelError

def answer(request):
    if request == "refuse":
        raise ModelError("no such model: choose another.")
    if request == "store":
        bytearray(2**30)
    if request == "hurry":
        while True:
            pass
    for _ in range(request["replies"]):
        yield "x" * request["characters"]
"""
MEMORY = 2**29


@pytest.fixture
def talker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "talker.py").write_text(TALKER, encoding="utf8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_a_process_answers_after_it_has_refused(talker: None) -> None:
    process = Apart("talker", MEMORY)
    with pytest.raises(RefusedError, match="choose another"):
        list(process.ask("refuse", QUICKLY, "asking"))
    assert [*process.ask({"replies": 1, "characters": 3}, QUICKLY, "asking")] == ["xxx"]
    process.close()


@pytest.mark.parametrize(
    "request_", [{"replies": 1, "characters": 20_000}, {"replies": 20, "characters": 1_000}]
)
def test_answers_are_bounded_in_sum(talker: None, request_: dict[str, int]) -> None:
    process = Apart("talker", MEMORY)
    with pytest.raises(ApartAnswerError):
        list(process.ask(request_, QUICKLY, "asking", characters=10_000))
    assert not process.alive


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="no other system keeps both limits")
@pytest.mark.parametrize(("request_", "timed"), [("store", False), ("hurry", True)])
def test_memory_and_processor_time_of_a_question_are_limited(
    talker: None, request_: str, timed: bool
) -> None:
    patience = Patience(SILENCE, SILENCE, processor=0.5, idle=IDLE)
    with pytest.raises(ApartError) as ended:
        list(Apart("talker", MEMORY).ask(request_, patience, "asking"))
    assert isinstance(ended.value, ApartTimeoutError) is timed


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="processor time has no limit there")
def test_a_computer_that_is_too_busy_is_not_the_questions_fault(talker: None) -> None:
    process = Apart("talker", MEMORY)
    busy = Patience(silence=0.2, deadline=0.2, processor=60.0)  # which nobody gets in that time
    with pytest.raises(BusyError, match="too busy for asking, which has not ended after 0 s"):
        list(process.ask("hurry", busy, "asking"))
    assert not process.alive
