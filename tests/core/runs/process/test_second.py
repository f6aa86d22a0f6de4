"""The second process: what it takes, what is done here instead, and how it ends."""

from __future__ import annotations

import os
import sys
import threading
import time
import types
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest

from core.catalogue import STUDIES
from core.errors import CancelledError, ModelError, StoreError
from core.maths.progress import tick
from core.runs.price import Cost
from core.runs.process import second
from core.runs.runner import Outputs, Progress, Task, run
from core.runs.store import Store, StoreWarning, opened_store
from core.runs.tasks import Signal, pure

LONG = Cost(second.WORTH)


@pure("tests.second.where")
def where(number: int, log: str) -> dict:
    """Say in which process it was computed, in a file too."""
    with Path(log).open("a", encoding="utf8") as file:
        file.write(f"{os.getpid()}\n")
    return {"process": os.getpid(), "home": os.environ.get("PALIMPSEST_TEST", "")}


@pure("tests.second.only_in")
def only_in(process: int, how: str, log: str) -> dict:
    """Compute in one process alone; fail, die or meet a bug in another."""
    value = where(0, log)
    if os.getpid() != process:
        if how == "die":
            os._exit(9)
        raise ModelError("No such model.") if how == "fail" else ZeroDivisionError(how)
    return value


@pure("tests.second.slow")
def slow(gate: str, log: str) -> dict:
    value = where(0, log)
    while not Path(gate).exists():
        tick(0.25, "at the gate")
        time.sleep(0.01)
    return value


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(second, "available_cores", lambda: 2)
    yield
    second._process.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def expected(tasks: Sequence[Task]) -> dict[str, Cost]:
    return {task.key: LONG for task in tasks}


def computed(task: Task, folder: Path) -> Outputs:
    return run([task], store=Store(folder / "store"), expected=expected)


def processes(log: Path) -> list[int]:
    return [int(line) for line in log.read_text(encoding="utf8").splitlines()]


def test_it_takes_long_tasks_of_long_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {
        "long": LONG,
        "short": Cost(second.SHORT / 2),
        "large": Cost(5.0, memory=2 * second.LARGE),
        "light": Cost(5.0, torch=False),
    }
    monkeypatch.setattr(second, "free_memory", lambda: 7 * second.LARGE)
    assert second.helps(costs) == {"long"}
    monkeypatch.setattr(second, "free_memory", lambda: 8 * second.LARGE)
    assert second.helps(costs) == {"long", "large"}
    assert second.helps({"a": Cost(second.WORTH / 2)}) == frozenset()
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    assert second.helps(costs) == frozenset()


def test_a_single_core_has_nothing_for_it_to_do(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second, "available_cores", lambda: 1)
    task = Task.of("where", where, number=1, log=str(log))
    assert computed(task, tmp_path).values[task.role]["process"] == os.getpid()


def test_a_value_of_the_second_process_is_stored_and_counts_as_computed(
    tmp_path: Path, log: Path
) -> None:
    task = Task.of("where", where, number=1, log=str(log))
    first = computed(task, tmp_path)
    assert first.values[task.role]["process"] != os.getpid()
    assert first.stored == 0
    again = computed(task, tmp_path)
    assert again.values == first.values
    assert again.stored == 1
    assert processes(log) == [first.values[task.role]["process"]]


def test_one_thread_uses_it_while_the_other_computes_here(tmp_path: Path, log: Path) -> None:
    gate = tmp_path / "gate"
    tasks = [
        Task.of("slow", slow, gate=str(gate), log=str(tmp_path / "slow")),
        Task.of("where", where, number=1, log=str(log)),
    ]
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if progress.done == 1 and "gate" in progress.note:
            gate.touch()

    outputs = run(tasks, store=Store(tmp_path / "store"), expected=expected, progress=watch)
    there, here = (outputs.values[task.role]["process"] for task in tasks)
    assert there != here == os.getpid()
    assert any(0.6 < progress.fraction < 0.65 for progress in seen), "a quarter of the slow task"
    assert any(progress.note == "slow: at the gate" for progress in seen)


@pytest.mark.parametrize("how", ["fail", "die", "bug"])
def test_what_it_cannot_do_is_done_here(how: str, tmp_path: Path, log: Path) -> None:
    task = Task.of("only here", only_in, process=os.getpid(), how=how, log=str(log))
    outputs = computed(task, tmp_path)
    assert outputs.values[task.role]["process"] == os.getpid()
    there, here = processes(log)
    assert there != here == os.getpid()


def test_a_task_that_fails_anywhere_fails_as_it_was_raised_here(tmp_path: Path, log: Path) -> None:
    task = Task.of("nowhere", only_in, process=0, how="fail", log=str(log))
    failure = computed(task, tmp_path).failures[task.role]
    assert failure.sentence == "nowhere failed: No such model."
    assert isinstance(failure.error, ModelError)


def test_a_function_that_only_this_process_has_is_called_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook = types.ModuleType("notebook_of_a_user")
    exec("def measure(number):\n    return {'number': number}\n", notebook.__dict__)
    monkeypatch.setitem(sys.modules, notebook.__name__, notebook)
    task = Task.of("measure", pure("tests.second.notebook")(notebook.measure), number=3)
    assert computed(task, tmp_path).values[task.role] == {"number": 3}
    monkeypatch.delattr(notebook, "measure")  # gone, so that it cannot even be named
    named = Task.of("again", task.function, number=4)
    assert computed(named, tmp_path).values[named.role] == {"number": 4}


def test_a_cancelled_run_ends_it(tmp_path: Path, log: Path) -> None:
    signal = Signal()
    task = Task.of("slow", slow, gate=str(tmp_path / "never"), log=str(log))

    def cancel() -> None:
        while not log.exists():
            time.sleep(0.01)
        signal.set()

    threading.Thread(target=cancel).start()
    with pytest.raises(CancelledError):
        run([task], store=Store(tmp_path / "store"), expected=expected, signal=signal)
    (process,) = processes(log)
    for _ in range(500):
        if not Path(f"/proc/{process}").exists():
            break
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_setting_that_changes_reaches_it(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, value in enumerate(("one", "two")):
        monkeypatch.setenv("PALIMPSEST_TEST", value)
        task = Task.of("where", where, number=number, log=str(log))
        assert computed(task, tmp_path).values[task.role]["home"] == value
    first, later = processes(log)
    assert os.getpid() not in (first, later)
    assert first != later


@pytest.mark.slow
def test_probes_of_an_included_model_are_the_same_in_either_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = STUDIES["probe"]
    spec = study.Spec(
        models=("zoo:seed-0",), sentences=80, seeds=1, controls=2, layers=(0, 3), epochs=4
    )
    monkeypatch.setattr(second, "SHORT", 0.0)
    computes, computed_there = second.computes, list[Task]()

    def noted(task: Task, store: Store) -> bool:
        there = computes(task, store)
        computed_there.extend([task] if there else [])
        return there

    monkeypatch.setattr(second, "computes", noted)
    tables = {}
    for worth in (0.0, float("inf")):
        monkeypatch.setattr(second, "WORTH", worth)
        store = Store(tmp_path / str(worth))
        tables[worth] = study.run(spec, store=store).table
    assert computed_there
    pd.testing.assert_frame_equal(*tables.values())


def test_what_no_store_can_keep_is_computed_here(tmp_path: Path, log: Path) -> None:
    store = Store(tmp_path / "store", refusal=StoreError("not a number of bytes"))
    task = Task.of("where", where, number=1, log=str(log))
    with pytest.warns(StoreWarning):
        outputs = run([task], store=store, expected=expected)
    assert outputs.values[task.role]["process"] == os.getpid()
    assert processes(log) == [os.getpid()]


def test_it_finds_what_is_precomputed_where_the_run_does(tmp_path: Path) -> None:
    opened = opened_store(str(tmp_path / "store"), 2**21, str(tmp_path / "answers.zip"))
    assert (opened.folder, opened.size_limit) == (tmp_path / "store", 2**21)
    assert opened.precomputed is not None
    assert opened.precomputed.path == tmp_path / "answers.zip"
    assert opened_store(str(tmp_path / "store"), 2**21, "").precomputed is None
