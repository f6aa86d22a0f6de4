"""What a long task keeps of itself: a study that is killed goes on where it was, and ends with the
same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import CancelledError, SpecError
from core.maths.arrays import Value
from core.maths.progress import checkpoint
from core.models import read_manifest
from core.runs import states
from core.runs.runner import Task, run
from core.runs.states import StoredState
from core.runs.store import Store
from core.runs.tasks import pure
from tests import ROOT

STOP: list[type[Exception]] = []
COUNTED: list[int] = []


@pure("test.counting")
def count(upto: int) -> Value:
    kept = checkpoint("test/1")
    found = kept.find()
    begin = 0 if found is None else int(found["number"])
    for number in range(begin, upto):
        COUNTED.append(number)
        kept.keep({"number": number + 1, "seen": np.arange(number)})
        if STOP and number == upto // 2:
            raise STOP[0]("stopped")
    return {"upto": upto}


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    STOP.clear()
    COUNTED.clear()


def once(store: Store) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return run([Task.of("count", count, upto=10)], store=store, executor=pool)


def test_a_state_that_would_drive_out_what_is_kept_is_not_kept(tmp_path: Path) -> None:
    store = Store(tmp_path, size_limit=2**23)
    kept = StoredState(store, "key")
    kept.keep({"small": np.zeros(2**17)})
    assert store.info().entries == 1
    kept.keep({"small": np.zeros(2**17), "large": np.zeros(8, np.uint8)})
    found = kept.find()
    assert found is None
    assert not kept.due
    left = store.get("key")
    assert left is not None
    assert "large" not in left


def test_a_task_that_was_stopped_goes_on_where_it_was_and_leaves_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    STOP.append(CancelledError)
    once(store)
    assert COUNTED == [0, 1, 2, 3, 4, 5]
    assert store.info().entries == 1
    STOP.clear()
    once(store)
    assert list(range(10)) == COUNTED
    assert store.info().entries == 1
    assert once(store).stored == 1


def test_a_task_that_failed_is_tried_from_its_last_state(tmp_path: Path) -> None:
    store = Store(tmp_path)
    STOP.append(SpecError)
    assert once(store).failures
    STOP.clear()
    assert not once(store).failures
    assert list(range(10)) == COUNTED


def test_a_damaged_state_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path)
    STOP.append(CancelledError)
    once(store)
    STOP.clear()
    for path in (tmp_path / "values").rglob("*"):
        if path.is_file() and "cache.db" not in path.name:
            path.write_bytes(b"nothing")
    store.put(Task.of("count", count, upto=10).key, {"upto": 10})
    assert once(store).stored == 1


def test_outside_a_run_nothing_is_kept() -> None:
    kept = checkpoint("test/1")
    kept.keep({"number": 1})
    assert kept.find() is None
    assert not kept.due
    assert not kept.long


def test_keeping_takes_a_small_share_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(states.time, "monotonic", lambda: now[0])
    store = Store(tmp_path)
    kept = StoredState(store, "state")
    now[0] = 9.9
    assert not kept.due
    now[0] = 10.0
    assert kept.due
    slow = store.put
    monkeypatch.setattr(
        store, "put", lambda key, state: (now.__setitem__(0, now[0] + 0.6), slow(key, state))
    )
    kept.keep({"number": 1})
    now[0] += 19.9
    assert not kept.due
    now[0] += 0.1
    assert kept.due


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `killed.py` saw."""
    if not {"seed-0", "seed-1"} <= {entry["name"] for entry in read_manifest()}:
        pytest.skip("the box has no models yet: make zoo")
    folder = tmp_path_factory.mktemp("killed")
    command = [sys.executable, "-m", "tests.core.runs.killed", str(folder)]
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PALIMPSEST_PRECOMPUTED": "none",
    }
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("study", ["align", "probe"])
def test_a_study_that_is_killed_three_times_makes_progress_and_ends_with_the_same_numbers(
    seen: dict[str, Any], study: str
) -> None:
    killed, ended, alone = (seen[study][name] for name in ("killed", "ended", "alone"))
    assert all("tables" not in said for run in killed for said in run)
    last: dict[str, int] = {}
    for one in [*killed, ended]:
        before = dict(last)
        for said in one:
            if "found" in said and said["key"] in last:
                assert said["found"] >= last[said["key"]], "a state was lost"
            if "kept" in said:
                last[said["key"]] = said["kept"]
        assert last != before
        assert all(last[key] >= before[key] for key in before), "no progress"
    assert ended[-1]["tables"] == alone[-1]["tables"]
    assert ended[-1]["left"] == alone[-1]["left"] == []
