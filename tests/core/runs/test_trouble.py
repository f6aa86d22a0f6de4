"""What a machine does to a store: a disk that is full, a clock that goes back, threads that come
and go."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from core.commands.main import main as command
from core.runs.files import BOOKS
from core.runs.store import Store, StoreWarning
from tests import ROOT

VALUE = {"x": np.arange(20_000.0)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    where = tmp_path / "disk"
    where.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(where)]
    if os.getuid() or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk takes root's rights")
    yield where
    subprocess.run(["umount", "--lazy", str(where)], check=True)


def fill(disk: Path) -> Path:
    """Write a file until nothing more fits."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return filler


def test_a_disk_that_fills_up_takes_no_result_and_can_be_cleared(small_disk: Path) -> None:
    store = Store(small_disk / "store")
    assert store.put("before", VALUE)
    filler = fill(small_disk)
    with pytest.warns(StoreWarning, match="The disk is full"):
        value, _ = store.get_or_compute("key", lambda: VALUE)
    assert np.array_equal(value["x"], VALUE["x"])
    assert store.get("before") is not None, "what was kept can be read"
    assert not list(small_disk.rglob("*.part"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        opened = Store(small_disk / "store")
        assert opened.get_or_compute("key", lambda: VALUE)[1] is False, (
            "a full disk opens, and keeps nothing"
        )
    store.clear()
    filler.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        opened.put("key", VALUE)
    assert opened.put("key", VALUE), "with room it keeps again"
    assert Store(small_disk / "store").get("key") is not None


def test_a_full_disk_can_be_cleared_by_the_command_that_the_warning_names(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(small_disk / "store"))
    assert Store(small_disk / "store").put("before", VALUE)
    fill(small_disk)
    assert command(["store", "clear"]) == 0
    assert not list((small_disk / "store").rglob("*.safetensors"))


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_study_on_a_full_disk_says_its_result_and_leaves_no_half_of_it(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(small_disk / "store"))
    fill(small_disk)
    small = [
        "--sentences",
        "20",
        "--words",
        "40",
        "--no-references",
        "--compare",
        "zoo:parse-0",
    ]
    with pytest.warns(StoreWarning, match="The disk is full"):
        status = command(["rsa", *small, "--out", str(small_disk / "out")])
    said = capsys.readouterr()
    assert status != 0
    assert "parse-0" in said.out, "the result is said before anything is written"
    assert "No space left on device" in said.err
    assert sorted(path.name for path in small_disk.iterdir() if path.name != "store") == ["filler"]


@contextlib.contextmanager
def no_root() -> Iterator[Path]:
    """A folder, and the rights of somebody whom file modes keep out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        rights = os.geteuid()
        if not rights:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(rights)
            for place, _, _ in os.walk(folder):
                Path(place).chmod(0o700)


def take_away(folder: Path) -> None:
    shutil.rmtree(folder)


def replace_by_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("something else")


def replace_by_empty_database(folder: Path) -> None:
    shutil.rmtree(folder)
    (folder / "values").mkdir(parents=True)
    (folder / "values" / "cache.db").touch()


def forbid(folder: Path) -> None:
    folder.chmod(0)


def forbid_writing(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            Path(place, name).chmod(0o400)
        Path(place).chmod(0o500)


EVENTS = (take_away, replace_by_file, replace_by_empty_database, forbid, forbid_writing)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
@pytest.mark.parametrize("running", [True, False], ids=["running", "at the start"])
def test_whatever_becomes_of_a_store_every_operation_answers_and_a_new_one_is_begun(
    event: Callable[[Path], None], running: bool
) -> None:
    with no_root() as parent, warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        folder = parent / "store"
        store = Store(folder)
        assert store.put("before", VALUE)
        event(folder)
        if not running:
            store = Store(folder)
        assert np.array_equal(store.get_or_compute("key", lambda: VALUE)[0]["x"], VALUE["x"])
        assert store.get("before") is None or event is forbid_writing
        assert "nothing" not in store
        store.drop(["before"])
        kept = event in (take_away, replace_by_empty_database)
        assert (store.info().trouble == "") == kept
        assert ("key" in store) == kept
        if folder.is_file():
            folder.unlink()
        elif not kept:
            folder.chmod(0o700)
            for path in (*folder.rglob("*/"), *folder.rglob("*")):
                path.chmod(0o700)
        assert store.put("key", VALUE)
        assert store.info().trouble == ""
        assert store.info().entries >= 1


def test_threads_that_meet_a_missing_store_at_once_all_keep_their_results(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    together = threading.Barrier(8)

    def put(number: int) -> bool:
        together.wait()
        return store.put(f"key {number}", VALUE)

    shutil.rmtree(store.folder)
    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(put, range(8)))
    assert store.info().entries == 8


@pytest.mark.parametrize("same_file", [False, True])
def test_what_is_written_while_another_makes_the_database_is_counted(
    tmp_path: Path, same_file: bool
) -> None:
    store = Store(tmp_path / "store")
    books = store.folder / "values" / BOOKS
    if not same_file:
        beside = tmp_path / BOOKS
        shutil.copy(books, beside)
        beside.replace(books)
    with contextlib.closing(sqlite3.connect(books)) as half_made, half_made:
        triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        for (name,) in half_made.execute(triggers).fetchall():
            half_made.execute(f"DROP TRIGGER {name}")
    assert store.put("key", VALUE)
    assert store.info().entries == 1
    assert not store.notices


def test_the_commands_say_that_there_is_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    (tmp_path / "store").write_text("a file is in the way")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoreWarning)
        assert command(["store", "info"]) == 2
        assert "PALIMPSEST_STORE" in capsys.readouterr().err
        assert command(["store", "clear"]) == 2
        assert "cannot be emptied" in capsys.readouterr().err


def test_a_clock_that_goes_back_does_not_make_new_results_leave_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path, size_limit=2**21)
    tomorrow = time.time() + 86_400
    with monkeypatch.context() as patched:
        patched.setattr("diskcache.core.time.time", lambda: tomorrow)
        for number in range(30):
            store.put(f"old {number}", VALUE)
    for number in range(5):
        store.put(f"new {number}", VALUE)
    assert all(f"new {number}" in store for number in range(5))
    assert sum(f"old {number}" in store for number in range(30)) > 3
    assert store.get("new 0") is not None


TWO = """
import sys
from pathlib import Path
import numpy as np
from core.runs.store import Store
store, name = Store(Path(sys.argv[1]), size_limit=2**22), sys.argv[2]
computed = 0
for number in range(40):
    def compute():
        global computed
        computed += 1
        return {"x": np.full(5_000, number)}
    value, _ = store.get_or_compute(f"shared {number}", compute)
    assert (value["x"] == number).all()
    store.put(f"{name} {number}", {"x": np.full(5_000, number)})
    if number % 10 == 9 and name == "b":
        store.clear()
print(computed)
"""


@pytest.mark.slow
def test_two_processes_on_one_store_serve_nothing_wrong_while_one_of_them_empties_it(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-W", "error", "-c", TWO, str(tmp_path)]
    running = [
        subprocess.Popen([*command, name], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for name in "ab"
    ]
    computed = [int(process.communicate(timeout=60)[0]) for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert 40 <= sum(computed) <= 80
    assert Store(tmp_path).info().entries > 0 or Store(tmp_path).put("key", VALUE)
