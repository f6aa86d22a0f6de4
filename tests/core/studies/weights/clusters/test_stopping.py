"""A run that is stopped in mid-model keeps its matrices: the next one computes those that are
missing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import CancelledError
from core.runs import pieces
from core.runs.pieces import keep_pieces
from core.runs.runner import Task, run
from core.runs.store import Store, key_of, using
from core.runs.tasks import Signal
from core.studies.weights.clusters import tasks as measuring
from core.studies.weights.clusters.tasks import measure_delta, measure_weights
from core.studies.weights.intruders import tasks as intruders
from tests.core.contents import read_as

BASE, MODEL = "zoo:seed-0", "zoo:nli-0"
MATRICES = 18


def delta_task() -> Task:
    return Task.of(
        MODEL,
        measure_delta,
        base=BASE,
        model=MODEL,
        base_identity=read_as(BASE),
        model_identity=read_as(MODEL),
        families=(),
        kept=8,
        seed=0,
    )


def intruders_task() -> Task:
    return Task.of(
        MODEL, intruders.measure_intruders, base=BASE, model=MODEL, base_identity=read_as(BASE),
        model_identity=read_as(MODEL), families=(), leading=3, draws=19, seed=0, part=0,
    )  # fmt: skip


def weights_task() -> Task:
    return Task.of(BASE, measure_weights, model=BASE, model_identity=read_as(BASE), families=())


CASES = [
    (delta_task, measuring, "decompose"),
    (intruders_task, intruders, "compare_directions"),
    (weights_task, measuring, "singular_values"),
]


def counted(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, then: Callable[[int], None]
) -> list[int]:
    """How often a matrix is computed; `then` is told after each."""
    original, calls = getattr(module, name), [0]

    def compute(*arguments: Any, **named: Any) -> Any:
        value = original(*arguments, **named)
        calls[0] += 1
        then(calls[0])
        return value

    monkeypatch.setattr(module, name, compute)
    return calls


@pytest.mark.parametrize(("task", "module", "name"), CASES, ids=["delta", "intruders", "weights"])
def test_a_stopped_run_computes_only_what_is_missing(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: Any, module: Any, name: str
) -> None:
    store, signal = Store(tmp_path / "store"), Signal()
    whole = run([task()], store=Store(tmp_path / "other")).values
    calls = counted(monkeypatch, module, name, lambda count: signal.set() if count == 7 else None)
    with pytest.raises(CancelledError):
        run([task()], store=store, signal=signal)
    assert calls == [7]
    calls[0] = 0
    again = run([task()], store=store).values
    matrices = MATRICES // (intruders.PARTS if module is intruders else 1)
    assert calls == [matrices - 7]
    for role, value in whole.items():
        for part, array in value.items():
            np.testing.assert_array_equal(again[role][part], array)
    assert store.info().entries == 1  # the value; its matrices are dropped


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_computed(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, reached = Store(tmp_path / "store"), threading.Event()
    done = threading.Event()

    def then(count: int) -> None:
        if count == 5:
            reached.set()
            done.wait(20)

    calls = counted(monkeypatch, measuring, "decompose", then)

    def interrupt(progress: object) -> None:
        if reached.is_set():
            done.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([delta_task()], store=store, progress=interrupt)
    stopped_after = calls[0]
    calls[0] = 0
    run([delta_task()], store=store)
    assert stopped_after < MATRICES
    assert calls == [MATRICES - stopped_after]


def test_a_small_model_writes_no_matrix(
    zoo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    original = Store.put_many
    monkeypatch.setattr(
        Store, "put_many", lambda self, items: written.append(len(items)) or original(self, items)
    )
    monkeypatch.setattr(pieces, "SECONDS", 60.0)
    run([delta_task()], store=Store(tmp_path / "store"))
    assert written == []


@pytest.mark.parametrize(("name", "value"), [("SECONDS", 0.0), ("BYTES", 1)])
def test_pieces_are_written_by_time_and_by_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    """A process that is killed loses what was added since: at most so many seconds and bytes."""
    monkeypatch.setattr(pieces, name, value)
    store, keys = (
        Store(tmp_path / "store"),
        {number: key_of("piece", number) for number in range(3)},
    )
    with using(store), keep_pieces(keys) as kept:
        kept.add(0, {"array": np.ones(4)})
        assert keys[0] in store
