"""A sweep runs every cell, goes on where one fails or breaks off, and keeps one table."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from core.catalogue import STUDIES
from core.results.folder import ExportError
from core.runs.cluster import ClusterExecutor
from core.runs.runner import open_executor
from core.runs.store import Store, default_store
from core.sweep import running
from core.sweep.folder import BROKEN, FINISHED, ROWS, STATE, STOPPED, State, read_rows, read_state
from core.sweep.grid import Sweep, read_sweep
from core.sweep.pricing import price_cells
from core.sweep.running import Run, at_once, busy, workers_of
from tests.core.sweep.naps import napping, runs  # noqa: F401

pytestmark = pytest.mark.usefixtures("napping")


class NoExecutor(Executor):
    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("something was submitted")


def sweep_of(folder: Path, text: str) -> Sweep:
    path = folder / "some.yaml"
    path.write_text(text, encoding="utf8")
    return read_sweep(path)


def finish(sweep: Sweep, folder: Path, store: Store | None = None, **more: Any) -> Run:
    """Run a sweep from where it is to its end, in two threads."""
    run = Run(sweep, folder, store or default_store(), **more)
    left = run.find_unfinished()
    run.seconds_of = price_cells(left)[1]
    with ThreadPoolExecutor(2) as pool:
        run.run(left, pool)
    return run


def test_every_cell_is_run_into_one_table_with_the_settings(tmp_path: Path) -> None:
    sweep = sweep_of(
        tmp_path, "study: nap\nmodel: [zoo:a, zoo:b]\nseed: [1, 2, 3]\nlayers: [[1, 2]]"
    )
    run = finish(sweep, tmp_path)
    assert run.state.now == FINISHED
    assert set(run.state.finished) == {cell.key for cell in sweep.cells}
    rows = pd.read_parquet(tmp_path / ROWS)
    assert list(rows.columns) == [
        *("study", "cell", "setting_model", "setting_seed", "setting_layers"),
        *("model", "process", "value"),
    ]
    assert list(zip(rows["setting_model"], rows["setting_seed"], strict=True)) == [
        (model, seed) for model in ("zoo:a", "zoo:b") for seed in (1, 2, 3)
    ]
    assert (rows["value"] == rows["setting_seed"] / 2).all()
    assert (rows["setting_layers"] == "1 2").all()
    assert rows["setting_seed"].dtype.kind == "i"
    fields = {field.name: field.metadata for field in pq.read_schema(tmp_path / ROWS)}
    assert b"option seed" in fields["setting_seed"][b"meaning"]
    assert fields["study"][b"meaning"]
    assert run.rows == 6


def test_studies_with_other_columns_share_the_table(tmp_path: Path) -> None:
    sweep = sweep_of(
        tmp_path,
        "- {study: nap, seed: [2, 3]}\n- {study: nap, seed: 2, table: beside, corpus: demo}",
    )
    finish(sweep, tmp_path)
    rows = pd.read_parquet(tmp_path / ROWS)
    assert len(rows) == 4
    assert rows["layer"].tolist()[2:] == [0, 1]
    assert rows["layer"].isna().tolist() == [True, True, False, False]
    assert rows["text"].isna().tolist() == [True, True, False, True]
    assert rows["value"].tolist()[:2] == [1.0, 1.5]


def test_a_column_of_text_and_numbers_becomes_text(tmp_path: Path) -> None:
    from core.sweep.folder import write_rows

    parts = [
        pd.DataFrame({"cell": ["a"], "setting_words": [100], "empty": [None]}),
        pd.DataFrame({"cell": ["b"], "setting_words": ["some"], "empty": [None]}),
    ]
    assert write_rows(tmp_path, parts) == 2
    rows = pd.read_parquet(tmp_path / ROWS)
    assert rows["setting_words"].tolist() == ["100", "some"]
    assert rows["empty"].isna().all()
    assert write_rows(tmp_path / "none", []) == 0


def test_what_fails_has_its_sentence_and_the_rest_goes_on(tmp_path: Path) -> None:
    sweep = sweep_of(
        tmp_path,
        "- {study: nap, goes: [well, badly, empty], seed: [1, 13]}\n- {study: nap, table: none}",
    )
    run = finish(sweep, tmp_path)
    said = {failure.name: failure.sentence for failure in run.state.failures}
    assert "cannot be read: choose another" in said["nap: goes badly, seed 1"]
    assert "seed 13" in said["nap: goes badly, seed 13"]
    assert said["nap: goes empty, seed 1"] == "Slept."
    assert "has no none" in said["nap"]
    assert (run.state.failed, len(run.state.finished), len(run.state.ended)) == (
        5,
        2,
        run.state.cells,
    )
    rows = pd.read_parquet(tmp_path / ROWS)
    assert rows["setting_goes"].tolist() == ["well", "well", "badly"], (
        "what a failed cell has is kept"
    )
    assert run.state.now == FINISHED


def test_a_bug_ends_no_other_cell_and_is_raised_at_the_end(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, "study: nap\ngoes: [wrong, well]\nseed: [1, 2, 3]")
    run = Run(sweep, tmp_path, default_store())
    with ThreadPoolExecutor(2) as pool, pytest.raises(ZeroDivisionError) as error:
        run.run(sweep.cells, pool)
    assert any("in the cell 'nap: goes wrong" in note for note in error.value.__notes__)
    state = read_state(tmp_path)
    assert state is not None
    assert (len(state.finished), state.failed) == (3, 3)
    assert all("a bug" in failure.sentence for failure in state.failures)


def test_a_finished_cell_is_read_and_a_failed_one_tried_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    text = f"study: nap\ngoes: [well, badly]\nseed: [1, 2]\nlog: {log}"
    sweep = sweep_of(tmp_path, text)
    finish(sweep, tmp_path)
    before = len(runs(log))
    again = finish(sweep, tmp_path)
    assert again.state.read == 2
    assert len(runs(log)) == before + 2, "only the tasks that failed ran again"
    assert len(pd.read_parquet(tmp_path / ROWS)) == 4
    more = sweep_of(tmp_path, text.replace("[1, 2]", "[1, 2, 3]").replace(", badly", ""))
    run = Run(more, tmp_path, default_store())
    assert [cell.spec.seed for cell in run.find_unfinished()] == [3]
    assert len(runs(log)) == before + 2


def test_a_finished_cell_whose_values_left_the_store_is_run_again(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, "study: nap\nseed: [1, 2]")
    finish(sweep, tmp_path)
    run = Run(sweep, tmp_path, Store(tmp_path / "empty"))
    assert len(run.find_unfinished()) == 2
    assert len(run._parts) == 2, "its rows stay until then"
    (tmp_path / ROWS).write_bytes(b"no parquet")
    assert read_rows(tmp_path) == {}
    assert len(finish(sweep, tmp_path)._parts) == 2


@pytest.mark.slow
def test_a_stopped_sweep_says_so_and_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep = sweep_of(
        tmp_path, f"study: nap\nseed: [1, 2, 3, 4, 5, 6]\nsteps: [4, 2000]\nlog: {log}"
    )
    short = [cell for cell in sweep.cells if cell.spec.steps == 4]

    def stop(state: State) -> None:
        if len(state.finished) >= 2 and state.status != STOPPED:
            raise KeyboardInterrupt

    began = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        run = Run(sweep, tmp_path, default_store(), stop)
        with pytest.raises(KeyboardInterrupt):
            run.run(sweep.cells, pool)
    assert time.monotonic() - began < 60, "tasks of a hundred seconds were told"
    state = read_state(tmp_path)
    assert state is not None
    assert state.now == STOPPED
    assert 2 <= len(state.finished) < 6
    assert len(pd.read_parquet(tmp_path / ROWS)) == len(state.finished)
    rest = Run(sweep, tmp_path, default_store())
    left = rest.find_unfinished()
    assert {cell.key for cell in left} == {cell.key for cell in sweep.cells} - {*state.finished}
    with ThreadPoolExecutor(2) as pool:
        rest.run([cell for cell in left if cell in short], pool)
    assert {*rest.state.finished} == {cell.key for cell in short}


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, "study: nap\nseed: [1, 2]")
    (tmp_path / "file").write_text("")
    with ThreadPoolExecutor(2) as pool, pytest.raises(ExportError, match="cannot write to"):
        Run(sweep, tmp_path / "file", default_store()).run(sweep.cells, pool)


def test_the_time_left_is_that_of_what_is_left_at_the_pace_so_far(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, "study: nap\nseed: [1, 2, 3, 4]")
    run = Run(sweep, tmp_path, default_store(), seconds_of={cell.key: 10.0 for cell in sweep.cells})
    first, *_ = sweep.cells
    assert run._remaining(30.0) is None
    run._settle(first, running.Ended(pd.DataFrame({"cell": [first.key]})))
    run._worked = 10.0
    assert run._remaining(30.0) == pytest.approx(90.0)
    run._fractions[sweep.cells[1].key] = 0.5
    assert run._remaining(30.0) == pytest.approx(30.0 * 25 / 15)


def test_the_price_counts_each_cell_and_each_download_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from core.models import costs
    from core.models.sizes import Size

    sweep = sweep_of(
        tmp_path, "study: rsa\ncompare: [hub:x/a, hub:x/b]\nseed: [1, 2, 3]\nbase: hub:x/base"
    )
    size = Size(110_000_000, 12, 768, 440_000_000)
    here = replace(size, download=0)
    monkeypatch.setattr(costs, "size_of", lambda ref: size if ref.startswith("hub:") else here)
    price, seconds = price_cells(sweep.cells)
    one = STUDIES["rsa"].price(sweep.cells[0].spec)
    assert price.seconds == pytest.approx(sum(seconds.values())) == pytest.approx(6 * one.seconds)
    assert price.memory == one.memory
    assert one.download == pytest.approx(2 * 0.44)
    assert price.download == pytest.approx(3 * 0.44)
    assert price.asks
    nothing = sweep_of(tmp_path, "study: rsa\ncompare: [zoo:none]")
    assert price_cells(nothing.cells)[0].seconds >= 0


@pytest.mark.exhaustive
@pytest.mark.slow
def test_cells_that_share_a_model_run_in_the_same_process(
    cluster: Any, tmp_path: Path, private_store: Path
) -> None:
    sweep = sweep_of(
        tmp_path,
        "study: nap\nmodel: [zoo:a, zoo:b, zoo:c, zoo:d]\nseed: [1, 2, 3, 4, 5, 6]\nsteps: 4",
    )
    with open_executor(cluster.scheduler_address) as executor:
        assert [*workers_of(executor).values()] == [1, 1]
        assert at_once(workers_of(executor), executor) == 4
        Run(sweep, tmp_path, default_store()).run(sweep.cells, executor)
    rows = pd.read_parquet(tmp_path / ROWS)
    assert len(rows) == 24
    assert rows["process"].nunique() == 2, "both work"
    ran = [Counter(part) for _, part in rows.groupby("setting_model")["process"]]
    together = sum(max(counts.values()) for counts in ran)
    assert together >= 22, "an idle worker may take a task or two at the end"
    assert os.getpid() not in set(rows["process"])


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_worker_that_dies_loses_its_running_task_alone(cluster: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    sweep = sweep_of(
        tmp_path,
        f"study: nap\nmodel: [zoo:a, zoo:b]\nseed: [21, 22, 23, 24, 25]\nsteps: 10\nlog: {log}",
    )
    killed: list[int] = []

    def kill(state: State) -> None:
        if len(state.finished) >= 2 and not killed:
            killed.append(int(runs(log)[-1][2]))
            os.kill(killed[0], signal.SIGKILL)

    with open_executor(cluster.scheduler_address) as executor:
        run = Run(sweep, tmp_path, default_store(), kill)
        run.run(sweep.cells, executor)
    assert killed
    assert run.state.failures == ()
    assert len(run.state.finished) == 10
    begun = Counter((model, seed) for model, seed, _ in runs(log))
    assert len(begun) == 10
    assert sum(begun.values()) - 10 in (1, 2), "what ran on it, and what was being handed to it"
    assert len(pd.read_parquet(tmp_path / ROWS)) == 10


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_sweep_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """In a process of its own, which is killed outright."""
    import subprocess
    import sys

    log = tmp_path / "log"
    text = f"study: nap\nseed: [1, 2, 3, 4, 5, 6, 7, 8]\nsteps: 10\nlog: {log}"
    sweep = sweep_of(tmp_path, text)
    code = (
        "from pathlib import Path; from core.catalogue import STUDIES; "
        "from tests.core.sweep import naps; STUDIES['nap'] = naps.NAP; "
        "from tests.core.sweep.test_running import finish; "
        "from core.sweep.grid import read_sweep; "
        f"finish(read_sweep(Path({str(tmp_path / 'some.yaml')!r})), Path({str(tmp_path)!r}))"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        state = read_state(tmp_path)
        if state is not None and len(state.finished) >= 3:
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    state = read_state(tmp_path)
    assert state is not None
    assert 3 <= len(state.finished) < 8
    before = len(runs(log))
    run = finish(sweep, tmp_path)
    assert len(run.state.finished) == 8
    assert run.state.read >= 3
    assert len(runs(log)) - before <= 8 - len(state.finished)
    assert len(pd.read_parquet(tmp_path / ROWS)) == 8


def test_a_state_that_is_silent_is_broken_off(tmp_path: Path) -> None:
    state = State("some", ("nap",), 3, status=running.FINISHED)
    assert state.now == FINISHED
    assert State("some", ("nap",), 3, updated=time.time() - 100).now == BROKEN
    assert State("some", ("nap",), 3, updated=time.time()).now == "running"
    assert read_state(tmp_path) is None
    for content in ("", "[]", "{}", '{"name": 1}', "null", "\x00"):
        (tmp_path / STATE).write_text(content)
        assert read_state(tmp_path) is None


def test_cells_wait_for_workers_and_not_the_other_way_round() -> None:
    with open_executor() as executor:
        assert at_once(workers_of(executor), executor) == 3
    remote = ClusterExecutor(None)
    assert at_once({str(n): 4 for n in range(4)}, remote) == 32
    assert at_once({str(n): 4 for n in range(1000)}, remote) == running.MOST_AT_ONCE
    assert at_once({}, remote) == 2


def test_a_running_cell_is_shared_by_its_workers_and_threads_make_it_lighter() -> None:
    workers = {"a": 1, "b": 2, "c": 1}
    homes = [["a"], ["b"], ["b", "c"], ["gone"], []]
    assert busy(workers, homes) == [1.0, 0.75, 0.5]
    assert busy({}, homes) == []
