"""A process of its own: where it finds its modules, and that its end is one error."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from core.runs.process.isolation import Apart, ApartError, ApartTimeoutError, Patience

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
