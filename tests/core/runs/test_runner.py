"""Runs skip what is stored, name what fails, keep the rest, end when cancelled, and share what
others compute."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from core.errors import (
    CancelledError,
    CorpusError,
    GaveWayError,
    ModelError,
    NotStoredError,
    SpecError,
)
from core.maths.progress import span, tick
from core.models.loading.tokenizers import open_tokenizer
from core.models.references import parse_ref
from core.runs.cluster import ClusterExecutor
from core.runs.price import Cost
from core.runs.process.cores import TASKS_AT_ONCE
from core.runs.runner import Outputs, Progress, Task, open_executor, run, run_here
from core.runs.store import Store, current_store, default_store
from core.runs.tasks import Signal, key_for, pure
from tests import ROOT
from tests.core.hostile import grown
from tests.core.tiny_models import save_tiny

# Task functions: module-level, so that they can travel to other processes. `log` is a file that
# counts calls.


def note(log: str, text: str) -> None:
    if log:
        with Path(log).open("a") as file:
            file.write(f"{text} {os.getpid()} {os.environ.get('PALIMPSEST_STORE', '')}\n")


@pure("tests.square")
def square(number: int, log: str = "") -> dict:
    note(log, str(number))
    return {"square": np.array(number**2), "number": number}


@pure("tests.nap")
def nap(number: int, log: str = "", steps: int = 4, pause: float = 0.05) -> dict:
    note(log, str(number))
    for step in range(steps):
        tick(step / steps, f"step {step}")
        time.sleep(pause)
    return {"number": number}


@pure("tests.blocked")
def blocked(number: int, gate: str, log: str = "") -> dict:
    note(log, str(number))
    while not Path(gate).exists():
        tick(0.5)
        time.sleep(0.01)
    return {"number": number}


@pure("tests.deaf")
def deaf(number: int, gate: str) -> dict:
    while not Path(gate).exists():
        time.sleep(0.01)
    return {"number": number}


@pure("tests.within")
def within(key: str) -> dict:
    return current_store().get_or_compute(key, lambda: {"number": 1})[0]


@pure("tests.fail")
def fail(kind: str) -> dict:
    kinds = {
        "model": ModelError("No such model; name another."),
        "corpus": CorpusError("Nothing to read."),
    }
    errors = kinds | {
        "memory": MemoryError(),
        "cancelled": CancelledError("by itself"),
        "bug": ZeroDivisionError("bug"),
    }
    raise errors[kind]


@pure("tests.halves")
def halves(number: int) -> dict:
    with span(0.0, 0.5):
        tick(1.0, "first half")
        with span(0.5, 1.0):
            tick(0.5)
    time.sleep(0.3)
    tick(2.0)
    return {"number": number}


@pure("tests.die")
def die(number: int) -> dict:
    os._exit(9)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "runs")


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


class NoExecutor(Executor):
    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future:
        raise AssertionError("nothing should have been submitted")


# Tasks


def test_a_key_depends_on_function_version_and_arguments_only() -> None:
    task = Task.of("a", square, number=3, log="x")
    assert task.key == Task.of("b", square, group="g", log="x", number=3).key
    assert task.arguments == (("log", "x"), ("number", 3))
    others = [
        Task.of("a", square, number=3, log="y"),
        Task.of("a", square, number=3.0, log="x"),
        Task.of("a", nap, number=3, log="x"),
    ]
    assert len({other.key for other in [task, *others]}) == 4


@dataclass(frozen=True)
class Settings:
    number: int
    log: str = "x"


@pure("tests.settled")
def settled(how: Settings, factor: int) -> dict[str, Any]:
    return {"product": how.number * factor}


def test_a_settings_object_counts_in_a_key_by_its_fields(store: Store) -> None:
    task = Task.of("a", settled, how=Settings(3), factor=2)
    assert (
        task.key
        == key_for(settled, number=3, log="x", factor=2)
        == key_for(settled, how=Settings(3), factor=2)
    )
    assert task.key != Task.of("a", settled, how=Settings(3, "y"), factor=2).key
    assert run([task], store=store).values["a"]["product"] == 6


def test_a_key_outlives_a_move_and_ends_with_a_version(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Task.of("a", square, number=3).key
    monkeypatch.setattr(square, "__module__", "somewhere.else")
    assert Task.of("a", square, number=3).key == key
    monkeypatch.setattr(square, "__palimpsest_identity__", ("tests.square", 2))
    assert Task.of("a", square, number=3).key != key


def test_an_identity_is_written_down_once() -> None:
    def inner() -> dict:
        return {}

    with pytest.raises(TypeError, match="not a module-level function"):
        pure("tests.inner")(inner)
    with pytest.raises(TypeError, match="have one identity"):
        pure("tests.square")(nap)
    with pytest.raises(TypeError, match="@pure"):
        Task.of("a", note)


def test_outputs_are_found_by_role(store: Store) -> None:
    tasks = [Task.of("the same", square, role=("square", n), number=n) for n in (2, 3)]
    assert {role: value["number"] for role, value in run(tasks, store=store).values.items()} == {
        ("square", 2): 2, ("square", 3): 3,
    }  # fmt: skip


def test_outputs_of_a_part_are_named_by_the_rest_of_their_roles() -> None:
    outputs = Outputs({"text": 0, ("a", "m"): 1, ("a", "n"): 2, ("b", "m"): 3, ("b", "m", 4): 5})
    assert outputs.of("a") == {"m": 1, "n": 2}
    assert outputs.of("b") == {"m": 3, ("m", 4): 5}
    assert outputs.of("text") == {}


def test_notices_of_outputs_are_in_the_order_of_tasks() -> None:
    values = {"b": {"notices": ["one", "two"]}, "a": {"notices": np.array(["no list"])}, "c": 3}
    more = {"d": {"number": 1}, "e": {"notices": ["three"]}}
    assert Outputs({**values, **more}).notices == ["one", "two", "three"]


@pure("tests.look")
def look(path: str) -> object:
    if not Path(path).exists():
        raise CorpusError("There is nothing yet.")
    return object()


def test_a_first_stage_is_never_stored_and_says_why_it_failed(store: Store, tmp_path: Path) -> None:
    first = [Task.of("look", look, role="seen", fleeting=True, path=str(tmp_path / "file"))]
    with pytest.raises(CorpusError, match="nothing yet"):
        run_here(first, store=store).need("seen")
    (tmp_path / "file").touch()
    ready = run_here(first, store=store)
    assert type(ready.need("seen")) is object
    assert store.info().entries == 0
    (tmp_path / "file").unlink()
    failed = run_here(first, store=store)
    assert failed.sentences == {"look": "look failed: There is nothing yet."}
    assert set(failed.failures) == {"seen"}, (
        "by what the output is for, not by what the task is called"
    )
    with pytest.raises(CorpusError, match="nothing yet"):
        failed.need("seen")


@pytest.mark.slow
def test_a_run_gives_way_at_the_border_of_a_task_and_goes_on_later(
    store: Store, tmp_path: Path
) -> None:
    gate, log, signal = tmp_path / "gate", tmp_path / "log", Signal()
    tasks = [Task.of(str(n), blocked, number=n, gate=str(gate), log=str(log)) for n in range(4)]

    def ask() -> None:
        until(lambda: len(lines(log)) == 2)
        signal.give_way.set()
        time.sleep(0.5)
        gate.touch()

    asking = threading.Thread(target=ask)
    asking.start()
    with pytest.raises(GaveWayError):
        run(tasks, store=store, signal=signal)
    asking.join()
    assert len(lines(log)) == 2, "what had begun was finished, nothing else was begun"
    assert run(tasks, store=store).stored == 2


def test_a_run_that_only_looks_computes_nothing(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [Task.of("a", square, number=1, log=str(log))]
    with pytest.raises(NotStoredError):
        run(tasks, store=store, signal=Signal(look_only=True))
    assert lines(log) == []
    run(tasks, store=store)
    assert run(tasks, store=store, signal=Signal(look_only=True)).stored == 1


@pytest.mark.slow
def test_a_look_does_not_wait_for_a_slow_first_stage(store: Store, tmp_path: Path) -> None:
    slow = [Task.of("slow", blocked, fleeting=True, number=1, gate=str(tmp_path / "never"))]
    with pytest.raises(NotStoredError):
        run_here(slow, store=store, signal=Signal(look_only=True, patience=0.2))


@pytest.mark.slow
def test_a_first_stage_that_never_ticks_is_left_behind(store: Store, tmp_path: Path) -> None:
    """The run ends although its task goes on, which nobody ends before the run has."""
    signal, gate = Signal(), tmp_path / "gate"
    threading.Timer(0.2, signal.set).start()
    tasks = [Task.of("deaf", deaf, fleeting=True, number=1, gate=str(gate))]
    with pytest.raises(CancelledError):
        run_here(tasks, store=store, signal=signal)
    gate.touch()


def test_tasks_are_hashable_and_lists_become_tuples() -> None:
    task = Task.of("a", square, number=[["the", "man"], ["ran"]])
    assert task.arguments == (("number", (("the", "man"), ("ran",))),)
    assert len({task, Task.of("a", square, number=(("the", "man"), ("ran",)))}) == 1


def test_functions_without_a_name_and_arguments_that_are_not_plain_are_bugs() -> None:
    with pytest.raises(TypeError, match="@pure"):
        Task.of("a", lambda: {})
    with pytest.raises(TypeError, match="ndarray"):
        run([Task.of("a", square, number=np.zeros(3))])
    with pytest.raises(ValueError, match="same role"):
        run([Task.of("a", square, number=1), Task.of("a", square, number=2)])


# Runs


def test_values_return_by_name_in_order(store: Store) -> None:
    outputs = run([Task.of(f"task {n}", square, number=n) for n in (3, 1, 2)], store=store)
    assert list(outputs.values) == ["task 3", "task 1", "task 2"]
    assert [int(value["square"]) for value in outputs.values.values()] == [9, 1, 4]
    assert outputs.failures == {}
    assert outputs.stored == 0


def test_what_is_stored_is_not_submitted(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [Task.of(str(n), square, number=n, log=str(log)) for n in range(5)]
    first = run(tasks[:3], store=store)
    second = run(tasks, store=store)
    third = run(tasks, store=store, executor=NoExecutor())
    assert len(lines(log)) == 5
    assert (first.stored, second.stored, third.stored) == (0, 3, 5)
    assert [list(value) for value in third.values.values()] == [
        list(value) for value in second.values.values()
    ]


def test_two_names_for_one_computation_run_once(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [Task.of(name, square, number=7, log=str(log)) for name in ("a", "b")]
    seen: list[Progress] = []
    outputs = run(tasks, store=store, progress=seen.append)
    assert list(outputs.values) == ["a", "b"]
    assert len(lines(log)) == 1
    assert (seen[-1].done, seen[-1].total) == (2, 2)


def test_no_tasks_are_no_work() -> None:
    seen: list[Progress] = []
    assert run([], executor=NoExecutor(), progress=seen.append).values == {}
    assert seen[-1].fraction == 1.0


def test_without_a_store_the_default_store_keeps(private_store: Path) -> None:
    assert run([Task.of("a", square, number=1)]).stored == 0
    assert run([Task.of("a", square, number=1)]).stored == 1
    assert any(private_store.iterdir())


def test_a_study_runs_where_the_store_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "file"))
    assert int(run([Task.of("a", square, number=3)]).values["a"]["square"]) == 9
    assert default_store().info().trouble
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.slow
def test_progress_rises_to_one_with_an_estimate(store: Store) -> None:
    run([Task.of("nap 0", nap, number=0)], store=store)
    seen: list[Progress] = []
    run([Task.of(f"nap {n}", nap, number=n) for n in range(9)], store=store, progress=seen.append)
    fractions = [progress.fraction for progress in seen]
    assert fractions == sorted(fractions)
    assert math.isclose(fractions[0], 1 / 9)
    assert fractions[-1] == 1.0
    assert any(fraction * 9 % 1 > 0.1 for fraction in fractions), "running tasks count in part"
    assert all((progress.total, progress.stored) == (9, 1) for progress in seen)
    assert seen[-1].done == 9
    assert seen[-1].remaining == 0.0
    estimates = [progress.seconds + progress.remaining for progress in seen if progress.remaining]
    assert estimates
    assert all(0.2 < estimate / seen[-1].seconds < 5 for estimate in estimates)
    assert any("nap" in progress.note and "step" in progress.note for progress in seen)


def test_progress_counts_tasks_by_what_they_are_expected_to_take(store: Store) -> None:
    short, long = (Task.of(f"square {n}", square, number=n) for n in (1, 2))
    run([long], store=store)
    seen: list[Progress] = []
    expected = mock.Mock(return_value={short.key: Cost(10.0), long.key: Cost(30.0)})
    run([long], store=store, expected=expected)
    assert not expected.called  # where nothing is to be computed
    run([short, long], store=store, progress=seen.append, expected=expected)
    assert seen[0].fraction == pytest.approx(30 / 40)
    assert seen[0].remaining is not None  # before anything is measured: what two cores take
    assert seen[0].remaining == pytest.approx(10.0 / TASKS_AT_ONCE, rel=0.1)
    assert (seen[-1].fraction, seen[-1].remaining) == (1.0, 0.0)


@pytest.mark.slow
def test_ticks_reach_the_run_from_pool_threads_in_spans(store: Store) -> None:
    seen: list[Progress] = []
    run([Task.of("halves", halves, number=1)], store=store, progress=seen.append)
    assert math.isclose(seen[1].fraction, 0.375)


def test_ticks_outside_a_run_do_nothing() -> None:
    tick(0.5, "nothing")
    with span(0.0, 0.5):
        tick(0.5)
    assert nap(1, steps=1, pause=0)["number"] == 1


# Failures


def test_a_failing_task_is_named_and_the_others_stay(store: Store) -> None:
    tasks = [Task.of(kind, fail, kind=kind) for kind in ("model", "corpus", "memory", "cancelled")]
    tasks += [Task.of(str(n), square, number=n) for n in range(3)]
    outputs = run(tasks, store=store)
    assert list(outputs.values) == ["0", "1", "2"]
    assert outputs.sentences["model"] == "model failed: No such model; name another."
    assert outputs.reasons["model"] == "No such model; name another."
    assert outputs.sentences["corpus"] == "corpus failed: Nothing to read."
    assert "memory is not enough" in outputs.sentences["memory"]
    assert outputs.sentences["cancelled"].startswith("cancelled failed: it was cancelled.")
    again = run(tasks, store=store)
    assert again.stored == 3
    assert again.sentences == outputs.sentences


@pytest.mark.slow
def test_a_bug_is_raised_after_the_others_ended(store: Store) -> None:
    tasks = [
        Task.of("the bug", fail, kind="bug"),
        *(Task.of(str(n), nap, number=n) for n in range(4)),
    ]
    with pytest.raises(ZeroDivisionError) as caught:
        run(tasks, store=store)
    assert "the bug" in caught.value.__notes__[0]
    assert all(task.key in store for task in tasks[1:])


@pytest.mark.slow
def test_a_callback_that_fails_leaves_nothing_running(store: Store, tmp_path: Path) -> None:
    def callback(progress: Progress) -> None:
        if progress.seconds > 0.1:
            raise ConnectionError("the reader is gone")

    tasks = [Task.of(str(n), blocked, number=n, gate=str(tmp_path / "never")) for n in range(4)]
    with pytest.raises(ConnectionError):
        run(tasks, store=store, progress=callback)
    until(
        lambda: not any(thread.name.startswith("palimpsest") for thread in threading.enumerate()),
        10,
    )


CRASH = """
import pathlib, sys
from core.runs.runner import Task, run
from core.runs.store import Store
from core.runs.tasks import Signal, pure
from tests.core.runs.test_runner import nap
tasks = [Task.of(str(n), nap, number=n, log=sys.argv[2]) for n in range(6)]
run(tasks, store=Store(pathlib.Path(sys.argv[1])), progress=lambda p: print(p.done, flush=True))
"""


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_next_run_resumes_after_a_crash(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", CRASH, str(store.folder), str(log)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 2:
                process.kill()
                break
    before = len(lines(log))
    assert 2 <= before < 6
    outputs = run([Task.of(str(n), nap, number=n, log=str(log)) for n in range(6)], store=store)
    assert outputs.stored >= 2
    assert len(outputs.values) == 6
    assert len(lines(log)) <= before + 4


# Cancelling


@pytest.mark.slow
def test_cancelling_keeps_the_finished_tasks_and_drops_the_waiting(
    store: Store, tmp_path: Path
) -> None:
    log, signal = tmp_path / "log", Signal()
    quick = [Task.of(f"quick {n}", square, number=n, log=str(log)) for n in range(2)]
    slow = [
        Task.of(f"slow {n}", blocked, number=n, gate=str(tmp_path / "never"), log=str(log))
        for n in range(6)
    ]

    def callback(progress: Progress) -> None:
        if progress.done == 2 and len(lines(log)) == 4:
            signal.set()

    with pytest.raises(CancelledError, match="is kept"):
        run([*quick, *slow], store=store, progress=callback, signal=signal)
    assert [task.key in store for task in quick] == [True, True]
    assert len(lines(log)) == 4, "two ran at a time; the others never began"
    with pytest.raises(CancelledError):
        run(slow, store=store, signal=signal)
    assert run(quick, store=store, signal=signal).stored == 2


@pytest.mark.slow
def test_a_task_that_never_ticks_does_not_hold_up_the_cancelled_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.runs.runner.GRACE_SECONDS", 0.2)
    signal, gate = Signal(), tmp_path / "gate"
    threading.Timer(0.2, signal.set).start()
    with pytest.raises(CancelledError):
        run([Task.of("deaf", deaf, number=1, gate=str(gate))], store=store, signal=signal)
    gate.touch()


# Sharing


@pytest.mark.slow
def test_two_sessions_share_a_run(store: Store, tmp_path: Path) -> None:
    log = tmp_path / "log"
    tasks = [Task.of(str(n), nap, number=n, log=str(log)) for n in range(4)]
    outputs: list[Outputs] = []
    sessions = [
        threading.Thread(target=lambda: outputs.append(run(tasks, store=store))) for _ in range(3)
    ]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join()
    assert len(lines(log)) == 4
    assert [len(output.values) for output in outputs] == [4, 4, 4]
    assert sum(output.stored for output in outputs) == 8


@pytest.mark.slow
def test_when_the_one_who_computes_cancels_the_one_who_waits_takes_over(
    store: Store, tmp_path: Path
) -> None:
    gate, log, signal = tmp_path / "gate", tmp_path / "log", Signal()
    task = Task.of("shared", blocked, number=1, gate=str(gate), log=str(log))
    results: list[object] = []

    def session(event: Signal | None) -> None:
        try:
            results.append(run([task], store=store, signal=event).values["shared"])
        except CancelledError:
            results.append("cancelled")

    first = threading.Thread(target=session, args=(signal,))
    first.start()
    until(lambda: len(lines(log)) == 1)
    second = threading.Thread(target=session, args=(None,))
    second.start()
    time.sleep(0.3)
    signal.set()
    until(lambda: len(lines(log)) == 2)
    gate.touch()
    first.join()
    second.join()
    assert results == ["cancelled", {"number": 1}]


@pytest.mark.slow
def test_one_who_waits_for_another_session_can_cancel(store: Store, tmp_path: Path) -> None:
    gate, log, signal = tmp_path / "gate", tmp_path / "log", Signal()
    task = Task.of("shared", blocked, number=1, gate=str(gate), log=str(log))
    outputs: list[Outputs] = []
    first = threading.Thread(target=lambda: outputs.append(run([task], store=store)))
    first.start()
    until(lambda: len(lines(log)) == 1)
    threading.Timer(0.3, signal.set).start()
    with pytest.raises(CancelledError):
        run([task], store=store, signal=signal)
    gate.touch()
    first.join()
    assert outputs[0].values["shared"] == {"number": 1}


@pytest.mark.slow
def test_a_task_that_waits_for_a_value_within_it_hears_that_its_run_was_cancelled(
    store: Store,
) -> None:
    signal = Signal()
    with ThreadPoolExecutor(1) as pool, store.lock("held"):
        threading.Timer(0.3, signal.set).start()
        with pytest.raises(CancelledError):
            run([Task.of("a", within, key="held")], store=store, signal=signal, executor=pool)
        assert pool.submit(int).result(timeout=5) == 0  # its thread is free while the key is held


# Any executor


def test_one_pool_serves_several_runs(store: Store) -> None:
    with ThreadPoolExecutor(1) as pool:
        for number in range(2):
            assert (
                run([Task.of("a", square, number=number)], store=store, executor=pool).stored == 0
            )


@pytest.mark.slow
def test_a_pool_of_processes_brings_values_home(
    store: Store, private_store: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    tasks = [Task.of(str(n), square, number=n, log=str(log)) for n in range(3)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        outputs = run([*tasks, Task.of("bad", fail, kind="model")], store=store, executor=pool)
    assert [int(value["square"]) for value in outputs.values.values()] == [0, 1, 4]
    assert outputs.sentences == {"bad": "bad failed: No such model; name another."}
    assert {line.split()[1] for line in lines(log)}.isdisjoint({str(os.getpid())})
    assert all(task.key in store and task.key in Store(private_store) for task in tasks)


def test_a_forked_worker_does_not_take_the_parents_run_for_its_own(store: Store) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            outputs = run([Task.of("a", square, number=5)], store=store, executor=pool)
    assert int(outputs.values["a"]["square"]) == 25


@pytest.mark.slow
def test_a_killed_worker_of_a_pool_is_a_named_failure(store: Store) -> None:
    tasks = [Task.of("deadly", die, number=1), *(Task.of(str(n), nap, number=n) for n in range(3))]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        outputs = run(tasks, store=store, executor=pool)
        assert (
            "deadly failed: its worker was lost (BrokenProcessPool)" in outputs.sentences["deadly"]
        )
        assert len(outputs.failures) + len(outputs.values) == 4
        gone = run(tasks, store=store, executor=pool)
        assert "the workers are gone" in gone.sentences["deadly"]


def test_a_lost_future_is_a_named_failure(store: Store) -> None:
    class Forgetful(Executor):
        def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future:
            future: Future = Future()
            if args[0].name == "lost":
                future.cancel()
                future.set_running_or_notify_cancel()
            elif args[0].name == "killed":
                future.set_exception(type("KilledWorker", (Exception,), {})())
            else:
                future.set_exception(BrokenProcessPool())
            return future

    outputs = run(
        [Task.of(n, square, number=i) for i, n in enumerate(("lost", "killed", "broken"))],
        store=store,
        executor=Forgetful(),
    )
    assert outputs.sentences["lost"].startswith("lost failed: its worker was lost (CancelledError)")
    assert "every worker that tried it died" in outputs.sentences["killed"]
    assert "its worker was lost (BrokenProcessPool)" in outputs.sentences["broken"]


# A Dask cluster


@pytest.mark.slow
def test_a_cluster_runs_the_same_tasks_each_worker_with_its_own_store(
    cluster: Any,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log = tmp_path / "log"
    tasks = [
        Task.of(f"{g}{n}", nap, group=g, number=n, log=f"{log}-{g}", steps=1)
        for g in "ab"
        for n in range(4)
    ]
    tasks.append(Task.of("bad", fail, kind="model"))
    monkeypatch.setenv("PALIMPSEST_SCHEDULER", cluster.scheduler_address)
    outputs = run(tasks, store=store)
    assert len(outputs.values) == 8
    assert outputs.sentences == {"bad": "bad failed: No such model; name another."}
    places = {g: {tuple(line.split()[1:]) for line in lines(Path(f"{log}-{g}"))} for g in "ab"}
    assert all(str(os.getpid()) != pid for where in places.values() for pid, _ in where)
    used = {folder for where in places.values() for _, folder in where}
    assert {Path(folder).name for folder in used} == {"one", "two"}
    for task in tasks[:8]:
        assert task.key in store, "the caller keeps what the workers return"
    assert run(tasks[:8], store=store, executor=NoExecutor()).stored == 8
    with open_executor(cluster.scheduler_address) as executor, pytest.raises(ZeroDivisionError):
        run([Task.of("bug", fail, kind="bug")], store=store, executor=executor)


@pure("tests.words")
def words(folder: str, sentence: str) -> dict:
    """How many subwords the tokenizer in a folder makes of a sentence, and where that was read."""
    tokenizer = open_tokenizer(parse_ref(f"path:{folder}"), Path(folder), 100)
    (encoding,) = tokenizer.encode([sentence.split()], longest=100)
    return {"subwords": len(encoding.ids), "process": os.getpid()}


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.tokenizers_apart
def test_a_hostile_tokenizer_is_one_sentence_and_no_worker_of_a_cluster_is_lost(
    cluster: Any, store: Store, tmp_path: Path
) -> None:
    for name in ("sound", "hostile"):
        save_tiny(tmp_path / name)
    path = tmp_path / "hostile" / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": grown(4)}))
    asked = (("hostile", "the banana"), ("sound", "the banana"), ("sound", "a banana"))
    tasks = [
        Task.of(f"{name}: {sentence}", words, folder=str(tmp_path / name), sentence=sentence)
        for name, sentence in asked
    ]
    with open_executor(cluster.scheduler_address) as executor:
        before = set(cluster.scheduler_info["workers"])
        outputs = run(tasks, store=store, executor=executor)
        assert set(cluster.scheduler_info["workers"]) == before
    assert set(outputs.values) == {"sound: the banana", "sound: a banana"}
    assert all(value["process"] != os.getpid() for value in outputs.values.values())
    (said,) = outputs.sentences.values()
    assert "The tokenizer of path:" in said
    assert said.endswith("choose another model.")


@pytest.mark.parametrize(
    ("sizes", "workers", "expected"),
    [
        ({"a": 4, "b": 4}, 2, {"a": 1, "b": 1}),
        ({"a": 6, "b": 2}, 4, {"a": 3, "b": 1}),
        ({"a": 5}, 3, {"a": 3}),
        ({"a": 1, "b": 1, "c": 1}, 1, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_a_group_stays_together_and_all_workers_have_work(
    sizes: dict[str, int], workers: int, expected: dict[str, int]
) -> None:
    class Client:
        def scheduler_info(self, n_workers: int) -> dict:
            return {"workers": {f"tcp://{number}": {} for number in range(workers)}}

        def get_executor(self, **options: Any) -> Any:
            asked.append(options)
            return NoExecutor()

    asked: list[dict] = []
    tasks = [
        Task.of(f"{group}{n}", square, group=group, number=n)
        for group in sizes
        for n in range(sizes[group])
    ]
    executor = ClusterExecutor(Client())
    executor.place(tasks, {})
    where: dict[str, set] = {}
    for task in tasks:
        with pytest.raises(AssertionError, match="submitted"):
            executor.submit(square, task)
        where.setdefault(task.group, set()).add(tuple(asked[-1]["workers"]))
        assert asked[-1]["allow_other_workers"] is True
    assert {group: len(next(iter(places))) for group, places in where.items()} == expected
    assert all(len(places) == 1 for places in where.values())
    assert (
        len({worker for places in where.values() for place in places for worker in place})
        == workers
    )


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_worker_killed_in_the_middle_costs_nothing_but_time(
    cluster: Any, store: Store, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    tasks = [
        Task.of(str(n), nap, group=str(n % 2), number=n, log=str(log), steps=10) for n in range(8)
    ]
    killed: list[int] = []

    def callback(progress: Progress) -> None:
        if progress.done >= 1 and not killed:
            killed.append(int(lines(log)[-1].split()[1]))
            os.kill(killed[0], signal.SIGKILL)

    with open_executor(cluster.scheduler_address) as executor:
        outputs = run(tasks, store=store, executor=executor, progress=callback)
    assert outputs.failures == {}
    assert sorted(value["number"] for value in outputs.values.values()) == list(range(8))
    assert len(lines(log)) > 8, "the task that was lost ran again"


@pytest.mark.slow
def test_cancelling_reaches_the_tasks_on_the_cluster(
    cluster: Any, store: Store, tmp_path: Path
) -> None:
    log, signal = tmp_path / "log", Signal()
    tasks = [Task.of(str(n), nap, number=n, log=str(log), steps=2000) for n in range(4)]

    def callback(progress: Progress) -> None:
        if lines(log):
            signal.set()

    began = time.monotonic()
    with open_executor(cluster.scheduler_address) as executor:
        with pytest.raises(CancelledError):
            run(tasks, store=store, executor=executor, progress=callback, signal=signal)
        assert time.monotonic() - began < 30
        # The workers are free again: they heard of it, and do not nap for the hundred seconds that
        # were asked for.
        outputs = run([Task.of("next", square, number=2)], store=store, executor=executor)
    assert int(outputs.values["next"]["square"]) == 4
    assert time.monotonic() - began < 60


@pytest.mark.slow
def test_an_address_where_nothing_answers_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("core.runs.cluster.CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense://x", "tcp://"):
        with pytest.raises(SpecError, match="No Dask scheduler answers"), open_executor(address):
            pass


@pytest.mark.slow
def test_a_scheduler_without_workers_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("core.runs.cluster.CONNECT_SECONDS", 2)
    scheduler = {
        "cls": distributed.Scheduler,
        "options": {"host": "127.0.0.1", "port": 0, "dashboard_address": "127.0.0.1:0"},
    }
    with distributed.SpecCluster(workers={}, scheduler=scheduler, silence_logs=50) as empty:
        executor = open_executor(empty.scheduler_address)
        with pytest.raises(SpecError, match="has no workers"), executor:
            pass


def test_without_dask_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SpecError, match="pip install 'dask"), open_executor("tcp://127.0.0.1:9"):
        pass


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_run_keeps_everything_where_it_was_told(store: Store, private_store: Path) -> None:
    """Activations, parses and words of a study go into its own store; the default one stays
    empty."""
    from core.studies.rsa.layers.spec import RsaSpec
    from core.studies.rsa.layers.study import STUDY

    spec = RsaSpec(compare=("zoo:parse-0",), sentences=20, words=40, references=False)
    result = STUDY.run(spec, store=store)
    assert len(result.table)
    assert store.info().entries > 10
    assert Store(private_store).info().entries == 0
