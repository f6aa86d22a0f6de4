"""A sweep is run: read what an earlier attempt has finished, price the rest, run it.

A cell is a study with one setting, run as the study's own command runs it, so that every task's
value goes to the store and a sweep that breaks off loses only what was running. Some cells run side
by side, on one executor, so that no worker waits while a study reads its text or makes its tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from core.catalogue import STUDIES
from core.errors import CancelledError, NotStoredError, PalimpsestError
from core.runs.cluster import ClusterExecutor
from core.runs.process.cores import TASKS_AT_ONCE
from core.runs.runner import Progress
from core.runs.store import Store
from core.runs.tasks import Signal
from core.sweep.folder import (
    FINISHED,
    STOPPED,
    Failure,
    State,
    read_rows,
    read_state,
    setting_columns,
    write_rows,
    write_state,
)
from core.sweep.grid import Cell, Sweep
from core.sweep.order import Waiting

MOST_AT_ONCE = 128  # cells: each is a thread of this process
LOOK_SECONDS = 60.0  # that a finished cell may take to be read from the store
POLL_SECONDS = 0.5
GRACE_SECONDS = 5.0  # that a stopped sweep waits for its cells
STATE_SECONDS = 1.0  # between two writes of the state
ROWS_SECONDS, ROWS_SHARE = 2.0, 0.05  # between two writes of the rows; share of the time for them
NOTHING = "no result, and no reason for it"


@dataclass(frozen=True)
class Ended:
    """A cell that ended.

    Attributes:
        rows: Of its table, with the setting's columns; None if it failed altogether.
        problem: Why it or some of its tasks failed; "" if nothing did.
        read: Whether everything was in the store.
    """

    rows: pd.DataFrame | None
    problem: str = ""
    read: bool = False


def run_cell(cell: Cell, **options: Any) -> Ended:
    """Run the study of a cell.

    Args:
        cell: The cell.
        options: For `Study.run`.

    Raises:
        CancelledError: If the sweep was stopped.
        NotStoredError: If only what is stored was wanted and something is not.
    """
    if cell.spec is None:
        return Ended(None, cell.problem)
    counts = [0, 0]

    def count(progress: Progress) -> None:
        counts[:] = progress.stored, progress.total
        if report is not None:
            report(progress)

    report: Callable[[Progress], None] | None = options.pop("progress", None)
    try:
        result = STUDIES[cell.study].run(cell.spec, progress=count, **options)
        table = result.need(cell.table, "another table") if cell.table else result.table
    except (CancelledError, NotStoredError):
        raise
    except PalimpsestError as error:
        return Ended(None, str(error))
    problem = " ".join(result.left_out)
    if table.empty:
        return Ended(None, problem or " ".join(result.notices) or result.cautioned() or NOTHING)
    return Ended(_rows(cell, table), problem, counts[0] == counts[1])


def _rows(cell: Cell, table: pd.DataFrame) -> pd.DataFrame:
    nullable = {"i": "Int64", "u": "Int64", "b": "boolean"}  # beside studies without the column
    kinds = {name: nullable.get(kind.kind) for name, kind in table.dtypes.items()}
    rows = table.reset_index(drop=True).astype({n: kind for n, kind in kinds.items() if kind})
    columns = {"study": cell.study, "cell": cell.key, **setting_columns(cell.setting)}
    for place, (name, value) in enumerate(columns.items()):
        rows.insert(place, name, value)
    return rows


@dataclass
class Run:
    """A sweep in progress.

    Attributes:
        sweep: The sweep.
        folder: Where its state and rows are written.
        store: Where results are looked for and kept.
        told: Called with the state whenever it changes.
        seconds_of: Expected seconds of each cell, by key.
        state: As it is written.
        rows: How many rows the table has.
    """

    sweep: Sweep
    folder: Path
    store: Store
    told: Callable[[State], None] = lambda state: None
    seconds_of: dict[str, float] = field(default_factory=dict)
    state: State = field(init=False)
    rows: int = field(init=False, default=0)
    _parts: dict[str, pd.DataFrame] = field(init=False, default_factory=dict)
    _fractions: dict[str, float] = field(init=False, default_factory=dict)
    _began: float = field(init=False, default_factory=time.monotonic)
    _worked: float = field(init=False, default=0.0)  # expected seconds of computed cells
    _state_due: float = field(init=False, default=0.0)
    _rows_due: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.state = State(self.sweep.name, self.sweep.studies, len(self.sweep.cells))

    def find_unfinished(self) -> list[Cell]:
        """Read the cells that an earlier attempt finished, and return the others.

        Nothing is computed: a cell of which something has left the store is among the others. Its
        rows stay in the file until it has been computed again.
        """
        earlier = read_state(self.folder)
        keys = {cell.key for cell in self.sweep.cells}
        kept = read_rows(self.folder)
        self._parts = {key: part for key, part in kept.items() if key in keys}
        finished = set(earlier.finished) if earlier is not None else set()
        left = []
        for cell in self.sweep.cells:
            if cell.key not in finished:
                left.append(cell)
                continue
            try:
                signal = Signal(look_only=True, patience=LOOK_SECONDS)
                self._settle(cell, run_cell(cell, store=self.store, signal=signal))
            except (CancelledError, NotStoredError):
                left.append(cell)
            self._tell()
        return left

    def run(self, cells: Sequence[Cell], executor: Executor) -> State:
        """Run cells, and go on where one fails; return the state at the end.

        Raises:
            ExportError: If the folder cannot be written.
            BaseException: A bug in a study, after all other cells have ended.
        """
        self._began = time.monotonic()
        signal, bugs = Signal(), list[BaseException]()
        running: dict[Future[Ended], tuple[Cell, list[str]]] = {}
        left, places = {cell.key: cell for cell in cells}, list[str]()
        waiting = Waiting(cells, self.seconds_of, 1)
        pool = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="palimpsest-sweep")
        try:
            while left or running:
                workers = workers_of(executor)
                if [*workers] != places:  # a cluster may grow and shrink
                    places = [*workers]
                    waiting = Waiting([*left.values()], self.seconds_of, len(places) or 1)
                while left and len(running) < at_once(workers, executor):
                    homes = [within for _, within in running.values()]
                    cell, home = waiting.take(busy(workers, homes) or [0.0])
                    del left[cell.key]
                    within = places[home.start : home.stop]
                    future = self._start(pool, cell, within, executor, signal)
                    running[future] = cell, within
                ended, _ = wait(running, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
                for future in ended:
                    self._end(running.pop(future)[0], future, bugs)
                self._tell(cell for cell, _ in running.values())
        except BaseException:
            signal.set()
            wait(running, timeout=GRACE_SECONDS)
            self._finish(STOPPED)
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        self._finish(FINISHED)
        if bugs:
            raise bugs[0]
        return self.state

    def _start(
        self,
        pool: Executor,
        cell: Cell,
        within: Sequence[str],
        executor: Executor,
        signal: Signal,
    ) -> Future[Ended]:
        """Start a cell in a thread; its tasks go to the workers of its place."""
        if isinstance(executor, ClusterExecutor):
            executor = executor.within(within)

        def progress(now: Progress) -> None:
            self._fractions[cell.key] = now.fraction

        return pool.submit(
            run_cell, cell, store=self.store, executor=executor, progress=progress, signal=signal
        )

    def _end(self, cell: Cell, future: Future[Ended], bugs: list[BaseException]) -> None:
        self._fractions.pop(cell.key, None)
        error = future.exception()
        if error is None:
            self._settle(cell, future.result())
            if not future.result().read:
                self._worked += self.seconds_of.get(cell.key, 1.0)
            return
        if isinstance(error, CancelledError):
            return
        error.add_note(f"in the cell {cell.name!r}")
        bugs.append(error)
        self._settle(cell, Ended(None, f"An error of the program: {error!r}. Please report it."))

    def _settle(self, cell: Cell, ended: Ended) -> None:
        """Take over the rows or the failure of a cell."""
        state = self.state
        if ended.problem:
            failure = Failure(cell.key, cell.name, ended.problem)
            state = replace(state, failures=(*state.failures, failure))
        if ended.rows is not None:
            self._parts[cell.key] = ended.rows
        if ended.rows is not None and not ended.problem:
            state = replace(
                state, finished=(*state.finished, cell.key), read=state.read + ended.read
            )
        self.state = state

    def _tell(self, running: Iterable[Cell] = ()) -> None:
        """Write the state, and from time to time the rows."""
        seconds = time.monotonic() - self._began
        self.state = replace(
            self.state, running=tuple(cell.name for cell in running), seconds=seconds
        )
        if time.monotonic() > self._state_due:  # all cells are gone over for the time left
            self.state = replace(self.state, remaining=self._remaining(seconds))
            write_state(self.folder, self.state)
            self._state_due = time.monotonic() + STATE_SECONDS
        if time.monotonic() > self._rows_due:
            self._write_rows()
        self.told(self.state)

    def _remaining(self, seconds: float) -> float | None:
        """Expect the rest to take as long, for what it was priced at, as what was computed."""
        running = sum(
            self._fractions.get(cell.key, 0.0) * self.seconds_of.get(cell.key, 1.0)
            for cell in self.sweep.cells
        )
        ended = self.state.ended
        left = sum(
            self.seconds_of.get(cell.key, 1.0) for cell in self.sweep.cells if cell.key not in ended
        )
        worked = self._worked + running
        return seconds * (left - running) / worked if worked > 0 and seconds > 1 else None

    def _write_rows(self) -> None:
        began = time.monotonic()
        order = [cell.key for cell in self.sweep.cells if cell.key in self._parts]
        self.rows = write_rows(self.folder, [self._parts[key] for key in order])
        took = time.monotonic() - began
        self._rows_due = time.monotonic() + max(ROWS_SECONDS, took / ROWS_SHARE)

    def _finish(self, status: str) -> None:
        self._write_rows()
        seconds = time.monotonic() - self._began
        self.state = replace(self.state, running=(), remaining=0.0, seconds=seconds, status=status)
        write_state(self.folder, self.state)
        self.told(self.state)


def workers_of(executor: Executor) -> dict[str, int]:
    """Return places to run tasks in, and how many tasks each takes: workers of a cluster, or the
    threads of this process."""
    if isinstance(executor, ClusterExecutor):
        return executor.workers()
    return {str(number): 1 for number in range(TASKS_AT_ONCE)}


def busy(workers: Mapping[str, int], homes: Iterable[Sequence[str]]) -> list[float]:
    """Count the cells that each worker is at work on, relative to the tasks that it takes at once.

    Args:
        workers: See `workers_of`.
        homes: The workers of each running cell, which share it.
    """
    counts = dict.fromkeys(workers, 0.0)
    for within in homes:
        for worker in within:
            if worker in counts:
                counts[worker] += 1 / len(within)
    return [counts[worker] / max(workers[worker], 1) for worker in workers]


def at_once(workers: Mapping[str, int], executor: Executor) -> int:
    """Count the cells that run side by side: on a cluster with a second one waiting at each worker,
    since it comes over the network; on threads with one more."""
    tasks = max(sum(workers.values()), 1)
    more = tasks if isinstance(executor, ClusterExecutor) else 1
    return min(tasks + more, MOST_AT_ONCE)
