"""A process that stays for the next request: how long, and how others wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import CancelledError
from core.maths.progress import check
from core.runs.process.isolation import Patience
from core.runs.process.persistent import PersistentProcess

QUICKLY = Patience(silence=60.0, deadline=60.0)
MODULE = """
import os
import time
from pathlib import Path

def answer(request):
    while request and not Path(request).exists():
        time.sleep(0.05)
    yield os.getpid()
    yield os.environ["GREETING"]
"""


@pytest.fixture
def make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], object]], PersistentProcess]:
    """Make one, with what is called in those that wait."""
    (tmp_path / "waiter.py").write_text(MODULE, encoding="utf8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return lambda waiting: PersistentProcess("waiter", waiting, GREETING="hello")


def ask(process: PersistentProcess, rest: float | None, file: str = "") -> int:
    """Ask for the process's number, which it says when the file is there."""
    number, greeting = process.ask(file, QUICKLY, "asking", memory=2**29, rest=rest)
    assert greeting == "hello"
    return int(number)


def test_it_stays_without_a_rest_and_ends_at_once_with_none(
    make: Callable[..., PersistentProcess],
) -> None:
    process = make(check)
    stays = ask(process, None)
    assert ask(process, 0.0) == stays
    assert process._process is not None
    assert not process._process.alive
    assert ask(process, None) != stays
    process.close()


def test_a_request_ends_the_rest_that_began_before_it(
    make: Callable[..., PersistentProcess],
) -> None:
    process = make(check)
    number = ask(process, 60.0)
    end = process._end
    assert end is not None
    assert ask(process, None) == number
    assert end.finished.is_set()
    process.close()


@pytest.mark.slow
def test_who_waits_for_a_turn_may_give_up(
    make: Callable[..., PersistentProcess], tmp_path: Path
) -> None:
    file = tmp_path / "go"

    def give_up() -> None:
        raise CancelledError("stop")

    process = make(give_up)
    numbers: list[int] = []
    first = threading.Thread(target=lambda: numbers.append(ask(process, None, str(file))))
    first.start()
    until = time.monotonic() + 20
    while not process._turn.locked() and time.monotonic() < until:
        time.sleep(0.01)
    with pytest.raises(CancelledError):
        ask(process, None)
    file.touch()
    first.join()
    assert numbers == [ask(process, 0.0)], "the first was answered, and gave the turn back"


def test_who_has_nothing_to_give_up_waits(
    make: Callable[..., PersistentProcess], tmp_path: Path
) -> None:
    file = tmp_path / "go"
    process = make(check)
    numbers: list[int] = []
    threads = [
        threading.Thread(target=lambda: numbers.append(ask(process, None, str(file))))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    file.touch()
    for thread in threads:
        thread.join()
    assert numbers == [ask(process, 0.0)] * 3
