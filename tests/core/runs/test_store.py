"""The store keeps what it is given, takes damage for a miss, never runs what it reads, and computes
a key once."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import pickle
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import core.runs.store
from core.errors import StoreError
from core.runs import connections
from core.runs import files as store_files
from core.runs import single_flight as flight
from core.runs.connections import MOST
from core.runs.entries import INLINE_BYTES
from core.runs.process.turns import POLL_SECONDS
from core.runs.single_flight import SingleFlight
from core.runs.store import (
    Store,
    StoreWarning,
    current_store,
    default_store,
    key_of,
    opened_store,
    using,
)
from tests import ROOT

SMALL = {"vectors": np.arange(20, dtype=np.float16).reshape(4, 5), "words": ["a", "b"], "n": 2}
LARGE = {"vectors": np.arange(2**17, dtype=np.float32)}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def same(left: dict | None, right: dict) -> bool:
    return (
        left is not None
        and list(left) == list(right)
        and all(np.array_equal(left[k], right[k]) for k in right)
    )


def books(store: Store) -> sqlite3.Connection:
    return sqlite3.connect(store.folder / "values" / "cache.db", isolation_level=None)


def files(store: Store) -> list[Path]:
    return [
        path
        for path in (store.folder / "values").rglob("*")
        if path.is_file() and "cache.db" not in path.name
    ]


def start(code: str, *arguments: object) -> subprocess.Popen:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


# Keeping and finding


@pytest.mark.parametrize("value", [SMALL, LARGE, {}, {"empty": np.zeros((0, 3))}])
def test_what_is_put_is_got(store: Store, value: dict) -> None:
    assert store.get("key") is None
    assert "key" not in store
    assert store.put("key", value)
    assert same(store.get("key"), value)
    assert "key" in store
    assert same(Store(store.folder).get("key"), value)


def test_many_are_found_in_the_order_asked_for(store: Store) -> None:
    items = {
        key_of(number): {"number": number, "array": np.full(3, number)} for number in range(600)
    }
    assert store.put_many(items)
    keys = [*reversed(items), "absent", next(iter(items))]
    found = store.get_many(iter(keys))
    assert list(found) == keys[:-2]
    assert all(same(found[key], items[key]) for key in items)
    assert store.info().entries == 600


def test_replacing_a_large_value_leaves_no_file_behind(store: Store) -> None:
    store.put("key", LARGE)
    store.put("key", LARGE)
    assert len(files(store)) == 1
    store.put("key", SMALL)
    assert files(store) == []


def test_clear_leaves_nothing_not_even_what_crashes_left(store: Store) -> None:
    store.put_many({"a": SMALL, "b": LARGE})
    for name in ("ab/orphan.safetensors", "ab/half.safetensors.part"):
        orphan = store.folder / "values" / name
        orphan.parent.mkdir(parents=True, exist_ok=True)
        orphan.write_bytes(b"orphan")
    (store.folder / "values.damaged-1").mkdir()
    store.clear()
    assert store.info().entries == 0
    assert files(store) == []
    assert sorted(path.name for path in store.folder.iterdir()) == ["locks", "values"]
    assert store.put("a", SMALL)


def test_the_folder_is_the_owners_alone(store: Store) -> None:
    store.put("a", SMALL)
    for folder in (store.folder, store.folder / "values", store.folder / "locks"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_with_other_things_in_it_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    tmp_path.chmod(0o755)
    Store(tmp_path)
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_keys_are_strings(store: Store) -> None:
    for key in (1, ("a", "b"), b"bytes", None):
        with pytest.raises(TypeError):
            store.put_many({"first": LARGE, key: SMALL})  # type: ignore[dict-item]
        assert files(store) == []
        with pytest.raises(TypeError):
            store.get(key)  # type: ignore[arg-type]


def test_the_files_are_plain_safetensors(store: Store) -> None:
    from safetensors.numpy import load_file

    store.put("key", LARGE)
    assert same(load_file(files(store)[0]), LARGE)


# Size


def test_what_was_used_longest_ago_leaves_first_and_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", size_limit=11 * 2**20)
    for name in "abcdefghij":
        store.put(name, {"x": np.zeros(2**20, np.uint8)})
        time.sleep(0.01)
    assert store.get("a")
    store.put("k", {"x": np.zeros(2**20, np.uint8)})
    present = [name for name in "abcdefghijk" if name in store]
    assert present == list("acdefghijk")
    assert store.info().bytes <= store.size_limit


def test_a_large_value_makes_room_among_many_small_ones(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", size_limit=4 * 2**20)
    store.put_many({str(number): {"x": np.zeros(2**15, np.uint8)} for number in range(90)})
    before = store.info().entries
    store.put("large", {"x": np.zeros(2 * 2**20, np.uint8)})
    assert store.info().bytes <= store.size_limit
    assert "large" in store
    assert before - 70 < store.info().entries < before


def test_a_batch_larger_than_the_store_keeps_the_store_within_its_limit(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", size_limit=2**20)
    store.put_many({str(number): {"x": np.zeros(2**15, np.uint8)} for number in range(90)})
    assert 10 < store.info().entries < 32
    assert store.info().bytes <= store.size_limit
    assert "89" in store


def test_a_value_larger_than_the_store_is_not_kept_and_that_is_said(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", size_limit=2**20)
    with pytest.warns(StoreWarning, match=r"1\.5 MiB is larger than the store's limit of 1\.0 MiB"):
        assert not store.put_many({"small": SMALL, "large": {"x": np.zeros(3 * 2**19, np.uint8)}})
    assert store.get("large") is None
    assert same(store.get("small"), SMALL)
    assert "PALIMPSEST_STORE_BYTES" in store.notices[0]


# Damage


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "remove", "foreign"])
def test_a_damaged_file_is_a_miss_and_computed_again(store: Store, damage: str) -> None:
    store.put("key", LARGE)
    path = files(store)[0]
    content = bytearray(path.read_bytes())
    if damage == "truncate":
        path.write_bytes(content[:-7])
    elif damage == "flip":
        content[-100] ^= 1
        path.write_bytes(content)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(pickle.dumps(LARGE))
    else:
        path.unlink()
    assert store.get("key") is None
    value, stored = store.get_or_compute("key", lambda: LARGE)
    assert not stored
    assert same(value, LARGE)
    assert same(store.get("key"), LARGE)
    assert len(files(store)) == 1


@pytest.mark.parametrize("position", [0, 5, 30, -1])
def test_a_flipped_byte_in_the_books_is_a_miss(store: Store, position: int) -> None:
    store.put("key", SMALL)
    with books(store) as database:
        (content,) = database.execute("SELECT value FROM Cache").fetchone()
        changed = bytearray(content)
        changed[position] ^= 4
        database.execute("UPDATE Cache SET value = ?", (bytes(changed),))
    assert store.get("key") is None
    assert not store.get_or_compute("key", lambda: SMALL)[1]
    assert store.get_or_compute("key", lambda: SMALL)[1]


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
@pytest.mark.parametrize("in_file", [False, True])
def test_entries_in_the_modes_of_diskcache_are_refused(
    store: Store, tmp_path: Path, mode: int, in_file: bool
) -> None:
    trap = tmp_path / "sprung"

    class Bomb:
        def __reduce__(self) -> tuple:
            return trap.touch, ()

    bomb = pickle.dumps(Bomb())
    store.put("key", LARGE if in_file else SMALL)
    with books(store) as database:
        database.execute("UPDATE Cache SET mode = ?", (mode,))
        if in_file:
            files(store)[0].write_bytes(bomb)
            database.execute("UPDATE Cache SET value = NULL")
        else:
            database.execute("UPDATE Cache SET value = ?", (bomb,))
    assert store.get("key") is None
    assert store.get_many(["key"]) == {}
    assert not trap.exists()
    pickle.loads(bomb)
    assert trap.exists(), "the trap itself works"


def test_an_entry_that_points_out_of_the_store_is_refused(store: Store, tmp_path: Path) -> None:
    store.put("key", LARGE)
    shutil.copy(files(store)[0], tmp_path / "elsewhere.safetensors")
    with books(store) as database:
        database.execute("UPDATE Cache SET filename = '../../elsewhere.safetensors'")
    assert store.get("key") is None


@pytest.mark.parametrize(
    "content", [b"not a database at all" * 500, b"SQLite format 3\x00" + b"\x07" * 8000]
)
def test_damaged_books_are_set_aside_at_the_start(tmp_path: Path, content: bytes) -> None:
    first = Store(tmp_path / "store")
    first.put("key", SMALL)
    for name in ("cache.db-wal", "cache.db-shm"):
        (first.folder / "values" / name).unlink(missing_ok=True)
    (first.folder / "values" / "cache.db").write_bytes(content)
    with pytest.warns(StoreWarning, match="set aside"):
        second = Store(tmp_path / "store")
    assert second.get("key") is None
    assert second.put("key", SMALL)
    assert same(second.get("key"), SMALL)
    assert len(list(second.folder.glob("values.damaged-*"))) == 1


def test_books_that_are_damaged_while_in_use_are_set_aside(store: Store) -> None:
    store.put_many({str(number): SMALL for number in range(500)})
    with books(store) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = store.folder / "values" / "cache.db"
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x07" * (len(content) - 4096)
    path.write_bytes(content)

    def read_in_another_thread() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            store.get_many([str(number) for number in range(500)])

    thread = threading.Thread(
        target=read_in_another_thread
    )  # a new connection, which has nothing in memory
    thread.start()
    thread.join()
    assert any("set aside" in notice for notice in store.notices)
    assert store.put("key", SMALL)
    assert same(store.get("key"), SMALL)


@pytest.mark.parametrize("left", [0, 100, 4_096, 20_000])
def test_books_cut_short_under_a_living_process_do_not_end_it(tmp_path: Path, left: int) -> None:
    process = start(CUT_SHORT, tmp_path / "store", left)
    answer, _ = process.communicate(timeout=60)
    assert process.returncode == 0, "ended by a signal"
    assert answer == "sound\n"


CUT_SHORT = """
import os, pathlib, sys, warnings
from core.runs.store import Store
warnings.simplefilter("ignore")
store = Store(pathlib.Path(sys.argv[1]))
items = {f"key-{n}": {"n": n, "words": ["word"] * 150} for n in range(200)}
store.put_many(items)
with store._values.lent() as values:
    values._sql("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
os.truncate(store.folder / "values" / "cache.db", int(sys.argv[2]))
found = store.get_many(items)
again = {key: store.get_or_compute(key, lambda value=value: value)[0] for key, value in items.items()}
print("sound" if again == items and all(items[key] == value for key, value in found.items()) else "wrong")
"""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_of_a_thousand_random_corruptions_none_is_served_and_none_fatal(tmp_path: Path) -> None:
    memory = Path(
        "/dev/shm"
    )  # a thousand small stores are made: in memory where there is a folder for it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        command = [sys.executable, "-m", "tests.core.runs.corruptions", folder, "1000"]
        answer = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=280
        )
    tally = json.loads(answer.stdout.splitlines()[-1])
    assert sum(tally.values()) == 1000
    assert tally.pop("failed", 0) == 0, answer.stdout
    assert (
        min(tally[what] for what in ("aside", "misses", "harmless")) > 100
    )  # the damage did reach what is stored


def test_a_folder_removed_while_in_use_is_begun_again(store: Store) -> None:
    store.put("key", SMALL)
    shutil.rmtree(store.folder)
    answers: list[dict] = []

    def ask() -> (
        None
    ):  # in a thread of its own: a new connection, to a file that is no longer there
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers.append(store.get_or_compute("other", lambda: LARGE)[0])

    for _ in range(2):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    assert len(answers) == 2
    assert all(same(answer, LARGE) for answer in answers)
    assert same(Store(store.folder).get("other"), LARGE)


def test_a_full_disk_is_a_warning(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(partial: str, path: str) -> None:
        assert Path(partial).exists()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.warns(StoreWarning, match="The disk is full"):
        value, stored = store.get_or_compute("key", lambda: LARGE)
    assert same(value, LARGE)
    assert not stored
    assert files(store) == []
    assert "store clear" in store.notices[0]
    monkeypatch.undo()
    assert store.put("key", LARGE)


def test_a_database_that_cannot_grow_is_a_warning_and_leaves_no_files(store: Store) -> None:
    with store._values.lent() as values:
        pages = values._sql("PRAGMA page_count").fetchone()[0]
        values._sql(f"PRAGMA max_page_count = {pages}").fetchall()
    items = {"file": LARGE} | {
        str(number): {"x": np.zeros(INLINE_BYTES // 2, np.uint8)} for number in range(200)
    }
    with pytest.warns(StoreWarning, match="The disk is full"):
        assert not store.put_many(items)
    assert files(store) == []
    assert store.get_many(items) == {}


def test_another_trouble_is_said_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    for method in ("_sql", "transact", "__contains__"):
        monkeypatch.setattr(type(store._values), method, refuse)
    with pytest.warns(StoreWarning, match="does not answer"):
        assert store.get("key") is None
    with pytest.warns(StoreWarning, match="does not answer"):
        assert "key" not in store
    with pytest.warns(StoreWarning, match="does not answer"):
        assert not store.put("key", SMALL)
    monkeypatch.setattr(store._values, "volume", refuse)
    monkeypatch.setattr(store._values, "clear", refuse)
    with pytest.warns(StoreWarning, match="does not answer"):
        assert "does not answer" in store.info().trouble
    with (
        pytest.warns(StoreWarning, match="does not answer"),
        pytest.raises(StoreError, match="cannot be emptied"),
    ):
        store.clear()
    monkeypatch.undo()
    assert "does not answer" in store.info().trouble, "it can be read, but writing was refused"
    assert store.put("key", SMALL)
    assert store.info().trouble == ""


def test_a_folder_named_full_is_not_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "fulltext-store")

    def refuse(partial: str, path: str) -> None:
        raise OSError(errno.EROFS, f"Read-only file system: {path}")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.warns(StoreWarning, match="does not answer"):
        assert not store.put("key", LARGE)
    assert not any("The disk is full" in notice for notice in store.notices)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_under_another_error_is_a_full_disk(number: int) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.__cause__ = OSError(number, os.strerror(number))
    assert store_files.is_full(error)
    assert not store_files.is_full(
        sqlite3.OperationalError("database or disk is full of something")
    )


@pytest.mark.parametrize("blocked", ["store", "store/values"])
def test_a_folder_that_cannot_be_made_is_said_and_made_when_it_can(
    tmp_path: Path, blocked: str
) -> None:
    (tmp_path / blocked).parent.mkdir(exist_ok=True)
    (tmp_path / blocked).write_text("a file is in the way")
    store = Store(tmp_path / "store")
    with pytest.warns(StoreWarning, match="PALIMPSEST_STORE"):
        assert same(store.get_or_compute("key", lambda: SMALL)[0], SMALL)
    with pytest.warns(StoreWarning, match="PALIMPSEST_STORE"):
        assert "PALIMPSEST_STORE" in store.info().trouble
    with pytest.warns(StoreWarning), pytest.raises(StoreError, match="cannot be emptied"):
        store.clear()
    (tmp_path / blocked).unlink()
    assert not store.get_or_compute("key", lambda: SMALL)[1]
    assert store.info().entries == 1
    assert store.info().trouble == ""


def test_books_that_cannot_be_set_aside_are_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store" / "values").mkdir(parents=True)
    (tmp_path / "store" / "values" / "cache.db").write_bytes(b"not a database at all" * 500)

    def refuse(path: Path, target: Path) -> Path:
        raise PermissionError("not allowed")

    monkeypatch.setattr(Path, "rename", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "Remove that folder" in Store(tmp_path / "store").info().trouble


def test_an_interrupted_batch_leaves_no_files(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(store._values, "_row_insert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.put("key", LARGE)
    assert files(store) == []
    monkeypatch.undo()
    assert store.put("key", LARGE)


# Connections


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="the system does not list open files"
)
def test_threads_that_come_and_go_leave_few_files_open(store: Store) -> None:
    def use(number: int) -> None:
        for turn in range(3):
            store.put(f"{number}-{turn}", SMALL)
            assert same(store.get(f"{number}-{turn}"), SMALL)

    for _ in range(3):
        with ThreadPoolExecutor(30) as threads:
            list(threads.map(use, range(30)))
        assert (
            len(open_files(store.folder)) <= 2 * MOST + 1
        )  # database and log of each, the shared index once


def test_threads_that_come_first_at_once_share_one_pool(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = connections._Pool.__init__

    def slowly(pool: connections._Pool, *arguments: object) -> None:
        make(pool, *arguments)
        time.sleep(0.02)

    monkeypatch.setattr(connections._Pool, "__init__", slowly)
    start = threading.Barrier(4)

    def pool(_: int) -> object:
        start.wait()
        return store._values._current_pool()

    with ThreadPoolExecutor(4) as threads:
        pools = list(threads.map(pool, range(4)))
    assert all(each is pools[0] for each in pools)
    assert store._values._current_pool() is pools[0]


def open_files(folder: Path) -> list[str]:
    links = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing's own
            links.append(str(link.readlink()))
    return [link for link in links if link.startswith(str(folder))]


def test_a_connection_is_used_by_no_two_threads_and_by_none_that_has_not_asked(
    store: Store,
) -> None:
    with store._values.lent() as values, ThreadPoolExecutor(1) as threads:
        mine = values._con
        assert threads.submit(lambda: store.put("key", SMALL)).result(timeout=60)
        with pytest.raises(RuntimeError, match="outside"):
            threads.submit(lambda: values._con).result(timeout=60)
        assert values._con is mine
    with pytest.raises(RuntimeError, match="outside"):
        _ = store._values._con


def test_who_finds_no_connection_free_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("key", SMALL)
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    with contextlib.ExitStack() as lent, ThreadPoolExecutor(1) as threads:
        for _ in range(MOST):
            lent.enter_context(store._values._current_pool().room)
        with pytest.warns(StoreWarning, match="connections were busy"):
            assert threads.submit(store.get, "key").result(timeout=60) is None
    assert same(store.get("key"), SMALL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")
def test_after_a_fork_connections_are_made_anew(tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", FORKED, str(tmp_path / "store")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert answer.stdout == "child True\nparent True\n", answer.stderr


FORKED = """
import os, pathlib, sys
from core.runs.connections import MOST
from core.runs.store import Store
store = Store(pathlib.Path(sys.argv[1]))
store.put("before", {"n": 1})
pool = store._values._current_pool()
with store._values.lent() as values:
    inherited = values._con
for _ in range(MOST):
    pool.room.acquire()  # other threads' operations, under way at the fork
child = os.fork()
if not child:
    with store._values.lent() as values:
        anew = values._con is not inherited
    sound = anew and store.get("before") == {"n": 1} and store.put("after", {"n": 2})
    print("child", sound, flush=True)
    os._exit(0)
os.waitpid(child, 0)
for _ in range(MOST):
    pool.room.release()
print("parent", store.get("after") == {"n": 2} and store._values._current_pool() is pool)
"""


# One computation a key


def test_a_value_is_the_same_cold_and_warm(store: Store) -> None:
    compute = lambda: {"pair": (1, 2), "x": np.arange(3), "s": np.float64(2)}  # noqa: E731
    cold, was_stored = store.get_or_compute("key", compute)
    warm, is_stored = store.get_or_compute("key", compute)
    assert (was_stored, is_stored) == (False, True)
    assert same(cold, warm)
    assert cold["pair"] == warm["pair"] == [1, 2]


@pytest.mark.parametrize("fits", [True, False])
def test_threads_missing_one_key_compute_once(tmp_path: Path, fits: bool) -> None:
    store = Store(tmp_path / "store", size_limit=2**22 if fits else 2**17)
    calls: list[int] = []
    answers: list[tuple[dict, bool]] = []

    def compute() -> dict:
        calls.append(1)
        until(lambda: store._flights._flights["key"].users == 30)  # everybody waits
        return LARGE

    def ask() -> None:
        answers.append(store.get_or_compute("key", compute))

    threads = [threading.Thread(target=ask) for _ in range(30)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(calls) == 1
    assert sorted(stored for _, stored in answers) == [False] + [True] * 29
    assert all(same(value, LARGE) for value, _ in answers)


@pytest.mark.slow
def test_threads_that_wait_do_not_spin(store: Store) -> None:
    release = threading.Event()
    holder = threading.Thread(
        target=store.get_or_compute, args=("key", lambda: {"waited": release.wait()})
    )
    looked: list[int] = []
    again = lambda: looked.append(1)  # noqa: E731
    waiters = [
        threading.Thread(target=store.get_or_compute, args=("key", dict, again)) for _ in range(30)
    ]
    for thread in (holder, *waiters):
        thread.start()
    time.sleep(4 * POLL_SECONDS)
    release.set()
    for thread in (holder, *waiters):
        thread.join()
    assert len(looked) <= 30 * 8, "each looks up a few times a second and sleeps in between"


@pytest.mark.slow
def test_after_a_failure_the_next_in_line_computes(store: Store) -> None:
    calls: list[str] = []

    def fail() -> dict:
        calls.append("fail")
        time.sleep(0.2)
        raise ValueError("no")

    def ask() -> None:
        with pytest.raises(ValueError, match="no"):
            store.get_or_compute("key", fail)

    first = threading.Thread(target=ask)
    first.start()
    until(lambda: calls)
    assert store.get_or_compute("key", lambda: SMALL)[1] is False
    first.join()
    assert same(store.get("key"), SMALL)


@pytest.mark.slow
def test_who_waits_may_give_up(store: Store) -> None:
    release, held = threading.Event(), threading.Event()

    def hold() -> None:
        with store.lock("key"):
            held.set()
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()

    def give_up() -> None:
        raise InterruptedError

    for asker in (
        store,
        Store(store.folder),
    ) * 3:  # one waits on the thread's lock, the other on the locked file
        with pytest.raises(
            InterruptedError
        ):  # also after others gave up: what is not theirs they do not let go
            asker.get_or_compute("key", dict, waiting=give_up)
    release.set()
    holder.join()
    assert store.get_or_compute("key", lambda: SMALL)[1] is False


def test_holding_a_key_twice_in_one_thread_is_an_error_not_a_standstill(store: Store) -> None:
    with (
        store.lock("key"),
        store.lock("other"),
        pytest.raises(RuntimeError, match="already holds"),
        store.lock("key"),
    ):
        pass
    with store.lock("key"):
        pass


ASK = """
import pathlib, sys, time
from core.runs.store import Store
store, log, go = Store(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
def compute():
    with log.open("a") as file:
        file.write("computed\\n")
    time.sleep(0.5)
    return {"answer": 42}
print("ready", flush=True)
while not go.exists():
    time.sleep(0.005)
value, stored = store.get_or_compute("key", compute)
print(value["answer"], stored)
"""


@pytest.mark.slow
def test_eight_processes_missing_one_key_compute_once(tmp_path: Path) -> None:
    log, go = tmp_path / "log", tmp_path / "go"
    processes = [start(ASK, tmp_path / "store", log, go) for _ in range(8)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    go.touch()
    answers = [process.communicate(timeout=60)[0].split() for process in processes]
    assert log.read_text() == "computed\n"
    assert sorted(answers) == [["42", "False"]] + [["42", "True"]] * 7


HOLD = """
import pathlib, sys, time
from core.runs.store import Store
with Store(pathlib.Path(sys.argv[1])).lock("key"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def hold_elsewhere(folder: Path, seconds: float = 60) -> subprocess.Popen:
    """Another process that holds "key"."""
    holder = start(HOLD, folder, seconds)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_crashed_holder_blocks_nobody(tmp_path: Path) -> None:
    holder = hold_elsewhere(tmp_path / "store")
    store = Store(tmp_path / "store")
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    waited: list[int] = []
    assert store.get_or_compute("key", lambda: SMALL, waiting=lambda: waited.append(1))[1] is False
    assert not waited


@pytest.mark.slow
def test_a_living_holder_is_waited_for_however_long_and_whoever_gives_up(tmp_path: Path) -> None:
    holder = hold_elsewhere(tmp_path / "store")
    end = time.monotonic() + 1.5

    def waiting() -> None:
        if time.monotonic() > end:
            raise InterruptedError

    for _ in range(3):  # the second and third come when another has given up
        with pytest.raises(InterruptedError):
            Store(tmp_path / "store").get_or_compute("key", dict, waiting=waiting)
    holder.kill()
    holder.communicate()


@pytest.mark.slow
def test_a_lock_is_let_go_by_its_holder_alone(store: Store) -> None:
    """Holders come and go and give up; never two at once, though each removes the file that it
    held."""
    inside: list[int] = []
    most: list[int] = []
    stores = [
        store,
        *(Store(store.folder) for _ in range(5)),
    ]  # each has flights of its own: only files keep order

    def work(mine: Store, rng: random.Random) -> None:
        for _ in range(40):
            patience = rng.randrange(4)

            def waiting() -> None:
                nonlocal patience
                patience -= 1
                if patience < 0:
                    raise InterruptedError

            with contextlib.suppress(InterruptedError), mine.lock("key", waiting):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.002)
                inside.pop()

    threads = [
        threading.Thread(target=work, args=(one, random.Random(n))) for n, one in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1
    assert len(most) > 40
    assert list((store.folder / "locks").iterdir()) == []


def test_who_could_not_take_a_lock_does_not_take_it_from_its_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise OSError("no locks available")

    def give_up() -> None:
        raise InterruptedError

    holder, careless, third = (
        SingleFlight(tmp_path / "locks", lambda line: None) for _ in range(3)
    )
    with holder.hold("key"):
        with monkeypatch.context() as patch:
            patch.setattr(flight.FileLock, "acquire", fail)
            with careless.hold(
                "key"
            ):  # it goes on without a lock, and leaves the holder's where it is
                pass
        with pytest.raises(InterruptedError), third.hold("key", give_up):
            pass


def test_locks_that_do_not_work_cost_time_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("no folder")
    said: list[str] = []
    flights = SingleFlight(tmp_path / "locks", said.append)
    with flights.hold("key"):
        pass
    assert "may be computed more than once" in said[0]


# The default store


def test_there_is_one_default_store_a_process(
    private_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PALIMPSEST_STORE_BYTES", raising=False)
    store = default_store()
    assert store is default_store()
    assert store.folder == private_store
    assert store.size_limit == core.runs.store.SIZE_LIMIT
    monkeypatch.setenv("PALIMPSEST_STORE_BYTES", str(10 * 2**20))
    assert default_store().size_limit == 10 * 2**20


def test_open_stores_are_remembered_and_bounded(tmp_path: Path) -> None:
    folders = [str(tmp_path / str(number)) for number in range(core.runs.store.STORES + 1)]
    first = opened_store(folders[0], 2**21, "")
    assert opened_store(folders[0], 2**21, "") is first
    assert opened_store(folders[0], 2**22, "") is not first
    for folder in folders[1:]:
        opened_store(folder, 2**21, "")
    assert opened_store(folders[0], 2**21, "") is not first


def test_the_current_store_is_the_one_in_use_in_this_thread(store: Store) -> None:
    seen: list[Store] = []
    with using(store):
        assert current_store() is store
        other = threading.Thread(target=lambda: seen.append(current_store()))
        other.start()
        other.join()
    assert seen == [default_store()]
    assert current_store() is default_store()


@pytest.mark.parametrize("text", ["2GB", "-1", "0", "1000"])
def test_with_a_senseless_size_nothing_is_kept_and_that_is_said(
    text: str, private_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE_BYTES", text)
    with pytest.warns(StoreWarning, match="not kept: .* number of bytes"):
        assert not default_store().put("key", SMALL)
    with pytest.warns(StoreWarning):
        assert "number of bytes" in default_store().info().trouble
    assert not list(private_store.rglob("*.db"))
    monkeypatch.delenv("PALIMPSEST_STORE_BYTES")
    assert default_store().put("key", SMALL)


def test_a_home_folder_of_nobody_is_a_name_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PALIMPSEST_STORE", "~nobody-of-this-name/store")
    assert default_store().put("key", SMALL)


def test_without_a_name_it_lies_in_the_users_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PALIMPSEST_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for platform in ("linux", "darwin", "win32"):
        monkeypatch.setattr(sys, "platform", platform)
        folder = default_store().folder
        assert folder.is_dir()
        assert folder.is_relative_to(tmp_path)
        assert "palimpsest" in folder.parts


def test_importing_the_store_is_quick_and_light() -> None:
    code = (
        "import sys; import core.runs.store\n"
        "print('torch' in sys.modules, 'pandas' in sys.modules, 'dask' in sys.modules)"
    )
    assert start(code).communicate()[0].split() == ["False"] * 3
