"""What a process remembers: made once, waited for, bounded, gone with its age, owner or process."""

from __future__ import annotations

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.errors import CancelledError
from core.runs.process import remembered as memory
from core.runs.process.remembered import Memory, file_state, folder_state, forget_all, remembered


class Owner:
    """Anything that can be weakly referred to."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [10.0]
    monkeypatch.setattr(memory.time, "monotonic", lambda: now[0])
    return now


def asked_together(values: Memory[object], make: Callable[[], object]) -> list[object]:
    """What thirty threads get that ask at once: a value, or an error."""
    together = threading.Barrier(30)

    def ask(_: int) -> object:
        together.wait()
        try:
            return values.get("chart", make)
        except Exception as error:
            return error

    with ThreadPoolExecutor(30) as readers:
        return list(readers.map(ask, range(30)))


def test_thirty_readers_make_one_and_get_the_same() -> None:
    calls: list[int] = []

    def make() -> object:
        calls.append(1)
        time.sleep(0.05)
        return object()

    assert len(set(map(id, asked_together(Memory(8), make)))) == 1
    assert len(calls) == 1


@pytest.mark.slow
def test_those_who_wait_get_the_error_and_who_comes_later_tries_again() -> None:
    calls: list[int] = []

    def fail() -> object:
        calls.append(1)
        time.sleep(0.2)
        raise ValueError("no answer")

    values: Memory[object] = Memory(8)
    assert all(isinstance(each, ValueError) for each in asked_together(values, fail))
    assert len(calls) < 30  # thirty attempts in a row would take thirty time-outs
    assert values.get("chart", lambda: 5) == 5


def test_who_waits_for_an_attempt_that_is_cancelled_makes_another() -> None:
    calls: list[int] = []

    def make() -> object:
        calls.append(1)
        time.sleep(0.05)
        if len(calls) == 1:
            raise CancelledError("stopped")
        return "made"

    given = asked_together(Memory(8), make)
    assert given.count("made") == 29
    assert len(calls) == 2


def test_another_name_and_another_owner_are_made_anew() -> None:
    values: Memory[int] = Memory(8)
    first, second = Owner(), Owner()
    assert values.get(("chart", "light"), lambda: 1, first) == 1
    assert values.get(("chart", "dark"), lambda: 2, first) == 2
    assert values.get(("chart", "light"), lambda: 3, second) == 3
    assert values.get(("chart", "light"), lambda: 4) == 4
    assert values.get(("chart", "light"), lambda: 5, first) == 1


def test_the_least_recently_read_goes_first() -> None:
    values: Memory[str] = Memory(2)
    for name in ("a", "b"):
        values.get(name, lambda: "old")
    values.get("a", lambda: "new")
    values.get("c", lambda: "old")
    assert len(values) == 2
    assert values.get("a", lambda: "new") == "old"
    assert values.get("b", lambda: "new") == "new"


def test_values_are_bounded_by_their_weights_and_the_newest_stays() -> None:
    values: Memory[str] = Memory(10, weigh=len)
    for text in ("aaaa", "bbbb", "cccc"):
        values.put(text[0], text)
    assert [values.fresh(name) for name in "abc"] == [None, "bbbb", "cccc"]
    values.put("d", "d" * 99)
    assert [values.fresh(name) for name in "bcd"] == [None, None, "d" * 99]
    values.put("d", "d")
    values.put("e", "e" * 9)
    assert values.fresh("d") == "d"  # the earlier one's weight went with it


@pytest.mark.slow
def test_a_collected_owner_leaves_nothing_to_whoever_gets_its_number() -> None:
    values: Memory[int] = Memory(256)
    for number in range(200):  # the allocator gives a freed object's place to the next
        owner = Owner()
        assert values.get("chart", lambda number=number: number, owner) == number
        del owner
    gc.collect()
    assert len(values) == 0


def test_a_value_is_made_again_when_it_is_too_old(clock: list[float]) -> None:
    calls: list[int] = []

    @remembered(8, seconds=1.0)
    def twice(number: int) -> int:
        calls.append(number)
        if number < 0:
            raise ValueError("negative")
        return 2 * number

    assert [twice(3), twice(3), twice(4)] == [6, 6, 8]
    assert calls == [3, 4]
    clock[0] += 1.0
    assert twice(3) == 6
    assert calls == [3, 4, 3]
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            twice(-1)
    assert calls[3:] == [-1, -1]


def test_what_was_put_is_fresh_for_its_time_and_the_last_until_it_is_forgotten(
    clock: list[float],
) -> None:
    answers: Memory[str] = Memory(8, seconds=60.0)
    assert answers.fresh("a") is answers.last("a") is None
    answers.put("a", "yes")
    assert answers.fresh("a") == answers.last("a") == "yes"
    clock[0] += 60.0
    assert answers.fresh("a") is None
    assert answers.last("a") == "yes"
    answers.put("a", "no")
    assert answers.fresh("a") == "no"
    answers.forget("a")
    assert answers.last("a") is None


def test_everything_can_be_forgotten() -> None:
    values: Memory[int] = Memory(8)
    values.put("a", 1)
    forget_all()
    assert len(values) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_begins_with_nothing_even_if_a_thread_held_the_lock() -> None:
    values: Memory[int] = Memory(8)
    values.put("a", 1)
    holds, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with values._lock:
            holds.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(60)
    child = os.fork()
    if child == 0:
        lock = values._lock
        usable = lock.acquire(timeout=5)  # type: ignore[attr-defined]
        os._exit(0 if usable and values.fresh("a") is None and values.get("a", int) == 0 else 1)
    leave.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert values.fresh("a") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_frees_nothing_that_its_parent_made() -> None:
    """It may hold connections of SQLite, which nobody may close on the other side of a fork."""
    values: Memory[Owner] = Memory(8)
    values.put("a", Owner())
    made = weakref.ref(values.get("a", Owner))
    child = os.fork()
    if child == 0:
        gc.collect()
        os._exit(0 if made() is not None and values.fresh("a") is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    path, read = tmp_path / "a.txt", []

    @remembered(8, state=file_state)
    def reader(path: Path) -> str:
        read.append(path)
        return path.read_text()

    path.write_text("one")
    assert [reader(path), reader(path)] == ["one", "one"]
    path.write_text("three")
    assert [reader(path), reader(path)] == ["three", "three"]
    os.utime(path, ns=(1, 1))
    assert reader(path) == "three"
    assert len(read) == 3


@remembered(8, state=file_state)
def content(path: Path) -> str:
    return path.read_text()


def test_another_content_of_the_same_size_and_time_is_read(tmp_path: Path) -> None:
    """As an archive unpacks it whose files all have one time, into the file that was there."""
    path = tmp_path / "a.txt"
    for text in ("one", "two"):
        path.write_text(text)
        os.utime(path, ns=(1, 1))
        assert content(path) == text


def test_a_link_that_points_elsewhere_is_read_again(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, ns=(1, 1))
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "one")
    assert content(link) == "one"
    link.unlink()
    link.symlink_to(tmp_path / "two")
    assert content(link) == "two"


def test_an_error_of_a_file_is_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"

    @remembered(8, state=file_state)
    def reader(path: Path) -> int:
        return int(path.read_text())

    path.write_text("x")
    status = path.stat()
    with pytest.raises(ValueError, match="invalid"):
        reader(path)
    path.write_text("7")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert reader(path) == 7
    path.unlink()
    with pytest.raises(FileNotFoundError):
        reader(path)


def test_a_folder_is_read_again_when_one_of_its_files_changed_came_or_went(tmp_path: Path) -> None:
    read: list[Path] = []

    @remembered(8, state=folder_state)
    def reader(folder: Path) -> int:
        read.append(folder)
        return len(list(folder.iterdir()))

    (tmp_path / "a").write_text("one")
    assert [reader(tmp_path), reader(tmp_path)] == [1, 1]
    assert len(read) == 1
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    assert reader(tmp_path) == 2
    (tmp_path / "nowhere").write_text("there now")
    assert reader(tmp_path) == 3
    (tmp_path / "a").write_text("three")
    reader(tmp_path)
    assert len(read) == 4
    (tmp_path / "a").unlink()
    assert reader(tmp_path) == 2
    with pytest.raises(FileNotFoundError):
        reader(tmp_path / "gone")
