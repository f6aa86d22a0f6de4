"""Run a study's tasks on any executor: skip stored ones, report failures, go on with the rest.

The executor is a `concurrent.futures.Executor`: a pool of two threads, or the Dask cluster at an
address, through distributed's own executor. There is no engine of our own.
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from concurrent.futures import CancelledError as LostError
from dataclasses import dataclass, field
from typing import Any

from core.errors import CancelledError, GaveWayError, NotStoredError, PalimpsestError, TaskError
from core.runs.cluster import ClusterExecutor, cluster
from core.runs.price import Cost
from core.runs.process.cores import TASKS_AT_ONCE
from core.runs.process.memory import give_back_free_memory
from core.runs.process.second import LocalExecutor, local_executor
from core.runs.store import Store, current_store, decode
from core.runs.tasks import Ledger, Outcome, Signal, Task, opened_ledger, perform

__all__ = [
    "Failure",
    "Outputs",
    "Progress",
    "Task",
    "open_executor",
    "run",
]

POLL_SECONDS = 0.2
# How long a cancelled run waits for tasks to reach their next tick; they end there anyway.
GRACE_SECONDS = 0.5
ONE_SECOND = Cost(1.0)
PRIOR = 5.0  # expected processor seconds that count like measured ones in a run's speed
AGAIN = "Run it again; finished tasks are kept."
WAS_CANCELLED = f"it was cancelled. {AGAIN}"


@dataclass(frozen=True)
class Progress:
    """The state of a run: tasks done, stored and in total; seconds so far and remaining.

    `shipped` of the stored ones are precomputed.
    `fraction` is between 0 and 1 and counts tasks by what they are expected to take, unfinished
    ones in part. `remaining` is None until there is something to go by.
    """

    done: int
    total: int
    stored: int
    fraction: float
    note: str
    seconds: float
    remaining: float | None
    shipped: int = 0


@dataclass(frozen=True)
class Failure:
    """Why a task has no value.

    Attributes:
        name: What a reader knows the task by.
        reason: Why, in a sentence.
        error: What it failed with; None where it was lost or cancelled.
    """

    name: str
    reason: str
    error: PalimpsestError | None = None

    @property
    def sentence(self) -> str:
        """Both, as a reader is told them."""
        return f"{self.name} failed: {self.reason}"


@dataclass(frozen=True)
class Outputs:
    """Values by role, in the order of tasks; failures by role; the number of stored values."""

    values: dict[Any, Any]
    failures: dict[Any, Failure] = field(default_factory=dict)
    stored: int = 0

    @property
    def reasons(self) -> dict[str, str]:
        """Why tasks failed, by their names."""
        return {failure.name: failure.reason for failure in self.failures.values()}

    @property
    def sentences(self) -> dict[str, str]:
        """What a reader is told of the tasks that failed, by their names."""
        return {failure.name: failure.sentence for failure in self.failures.values()}

    @property
    def notices(self) -> list[str]:
        """What the tasks say of what they read, in their order."""
        lists = (value.get("notices") for value in self.values.values() if isinstance(value, dict))
        return [str(note) for notes in lists if isinstance(notes, list) for note in notes]

    def of(self, part: Hashable) -> dict[Any, Any]:
        """Return the values whose roles are this part of a study with more to tell them apart, by
        that: (part, model) by model, (part, model, layer) by (model, layer)."""
        roles = [role for role in self.values if isinstance(role, tuple) and role[0] == part]
        return {role[1] if len(role) == 2 else role[1:]: self.values[role] for role in roles}

    def need(self, role: Hashable) -> Any:
        """Return the value of this role; raises the PalimpsestError that its task failed with,
        since the study cannot go on without it."""
        if role in self.failures:
            failure = self.failures[role]
            raise failure.error or TaskError(failure.sentence)
        return self.values[role]

    def with_more(self, more: Outputs) -> Outputs:
        """Add the outputs of further tasks with other roles."""
        return Outputs(
            self.values | more.values,
            self.failures | more.failures,
            self.stored + more.stored,
        )


@dataclass
class _Work:
    """A run in progress; tasks with the same key are run once."""

    ledger: Ledger
    by_key: dict[str, list[Task]]
    expected: Mapping[str, Cost] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    values: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, Outcome] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    shipped: set[str] = field(default_factory=set)
    bugs: list[BaseException] = field(default_factory=list)

    def settle(self, key: str, future: Future[Outcome]) -> None:
        """Take over a future's result."""
        error = LostError() if future.cancelled() else future.exception()
        kind = type(error).__name__
        if isinstance(error, (BrokenExecutor, LostError)):
            self.failures[key] = Outcome(failure=f"its worker was lost ({kind}). {AGAIN}")
            return
        if kind == "KilledWorker":  # distributed's: it has tried on several workers
            self.failures[key] = Outcome(
                failure=f"every worker that tried it died, perhaps out of memory. {AGAIN}"
            )
            return
        if error is not None:
            error.add_note(f"in the task {self.by_key[key][0].name!r}")
            self.bugs.append(error)
            return
        outcome = future.result()
        if isinstance(outcome.value, bytes):  # from another process, which has a store of its own
            self.values[key] = decode(outcome.value)
            if key not in self.ledger.store:
                self.ledger.store.put(key, self.values[key])
        elif outcome.value is not None:
            self.values[key] = outcome.value
        else:
            self.failures[key] = outcome
        if outcome.stored:
            self.stored.add(key)

    def progress(self) -> Progress:
        """Report the state of the run."""
        total = self._count(self.by_key)
        ended = self.values.keys() | self.failures.keys()
        done, stored, shipped = map(self._count, (ended, self.stored, self.shipped))
        fractions = list(self.ledger.fractions.items())
        running = sum(part * self.weigh([key]) for key, part in fractions if key not in ended)
        at_work = running + self.weigh(ended - self.stored)
        seconds = time.monotonic() - self.began
        whole = self.weigh(self.by_key)
        left = whole - self.weigh(ended) - running
        prior = PRIOR if self.expected else 0.0
        measurable = prior or (seconds > 0.5 and at_work > 0.02)
        unfinished = len(ended) < len(self.by_key)
        remaining = None if unfinished else 0.0
        if unfinished and measurable:
            remaining = left * (seconds + prior / TASKS_AT_ONCE) / (at_work + prior)
        fraction = 1.0 - left / whole if unfinished else 1.0
        note = self.ledger.note
        return Progress(done, total, stored, fraction, note, seconds, remaining, shipped)

    def weigh(self, keys: Iterable[str]) -> float:
        """Sum up what the tasks with these keys are expected to take."""
        return sum(self.expected.get(key, ONE_SECOND).seconds for key in keys)

    def _count(self, keys: Iterable[str]) -> int:
        """Count the tasks with these keys."""
        return sum(len(self.by_key[key]) for key in keys)

    def outputs(self) -> Outputs:
        """Collect the outputs."""
        tasks = [task for together in self.by_key.values() for task in together]
        return Outputs(
            {task.role: self.values[task.key] for task in tasks if task.key in self.values},
            {
                task.role: Failure(task.name, failed.failure or WAS_CANCELLED, failed.error)
                for task in tasks
                if (failed := self.failures.get(task.key)) is not None
            },
            sum(task.key in self.stored for task in tasks),
        )


def run(
    tasks: Sequence[Task],
    *,
    store: Store | None = None,
    executor: Executor | None = None,
    progress: Callable[[Progress], None] | None = None,
    signal: Signal | None = None,
    expected: Callable[[Sequence[Task]], Mapping[str, Cost]] | None = None,
) -> Outputs:
    """Run tasks, taking values from the store where they are there.

    Args:
        tasks: With distinct roles.
        store: Where to look and to keep; the current store (`store.using`), else the default store
            without it.
        executor: Where to run; `open_executor()` without it.
        progress: Called in this thread at the start, a few times a second and at the end.
        signal: Set it, from any thread, to end the run at the next tick of its tasks; it can also
            ask the run to give way, or to bring only what is stored.
        expected: Estimates what tasks take, by key; asked where something is to be computed. All
            take the same without it.

    Returns:
        Values by role. A task that raised a PalimpsestError, or whose worker died, is in `failures`
        instead.

    Raises:
        CancelledError: If `signal` was set before the end. What was finished is in the store.
        GaveWayError: If it was asked to give way before the end; the same.
        NotStoredError: If only what is stored was wanted and something is not.
        ValueError: If two tasks have one role. That, like any other error that is raised here, is a
            bug; a bug in a task is raised after the other tasks have ended.
    """
    if len({task.role for task in tasks}) < len(tasks):
        raise ValueError("two tasks have the same role")
    by_key: dict[str, list[Task]] = {}
    for task in tasks:
        by_key.setdefault(task.key, []).append(task)
    signal = signal or Signal()
    ledger = Ledger(uuid.uuid4().hex, store or current_store(), signal)
    work = _Work(ledger, by_key)
    lasting = [key for key, together in by_key.items() if not together[0].fleeting]
    work.values, work.shipped = ledger.store.find(lasting)
    work.stored = set(work.values)
    report = progress or (lambda _: None)
    missing = [together[0] for key, together in by_key.items() if key not in work.values]
    if missing and expected is not None and not signal.look_only:
        work.expected = expected(tasks)
    report(work.progress())
    if signal.look_only and not all(task.fleeting for task in missing):
        raise NotStoredError("Not everything is stored.")
    if missing:
        with contextlib.ExitStack() as stack:
            workers = executor or stack.enter_context(open_executor())
            stack.enter_context(opened_ledger(ledger))
            _run_missing(work, missing, workers, report)
        if not all(task.fleeting for task in missing):
            give_back_free_memory()
        report(work.progress())
    if work.bugs:
        raise work.bugs[0]
    return work.outputs()


def run_here(tasks: Sequence[Task], **options: Any) -> Outputs:
    """Run a study's first stage in threads of this process: reading, downloading, asking. Raises
    CancelledError as `run` does."""
    if not tasks:
        return Outputs({})
    with local_executor() as executor:
        return run(tasks, **(options | {"executor": executor}))


def _run_missing(
    work: _Work, missing: list[Task], executor: Executor, report: Callable[[Progress], None]
) -> None:
    """Submit the tasks and wait for them, reporting progress."""
    signal = work.ledger.signal
    futures: dict[Future[Outcome], str] = {}
    if isinstance(executor, (ClusterExecutor, LocalExecutor)):
        executor.place(missing, work.expected)
    try:
        for task in sorted(missing, key=lambda task: -work.weigh([task.key])):
            try:
                futures[executor.submit(perform, task, work.ledger.identifier)] = task.key
            except BrokenExecutor:
                work.failures[task.key] = Outcome(failure=f"the workers are gone. {AGAIN}")
        pending, left_out = set(futures), False
        while pending:
            finished, pending = wait(pending, timeout=POLL_SECONDS, return_when="FIRST_COMPLETED")
            for future in finished:
                work.settle(futures[future], future)
            if finished and not all(task.fleeting for task in missing):
                give_back_free_memory()  # before the tasks that are waiting take theirs
            if work.ledger.stopped():
                raise CancelledError("The run was cancelled; what was computed so far is kept.")
            if signal.look_only and time.monotonic() - work.began > signal.patience:
                raise NotStoredError("Looking for stored results took too long.")
            if signal.give_way.is_set():
                begun = {future for future in pending if not future.cancel()}
                left_out, pending = left_out or len(begun) < len(pending), begun
            report(work.progress())
        if left_out:
            raise GaveWayError("The run gave way to another; what was computed so far is kept.")
    finally:
        # Also if `report` raised: leave no task running.
        unfinished = {future for future in futures if not future.done()}
        if unfinished:
            work.ledger.stop.set()
            if isinstance(executor, ClusterExecutor):
                executor.stop(work.ledger.identifier)
            running = {future for future in unfinished if not future.cancel()}
            wait(running, timeout=GRACE_SECONDS)


@contextlib.contextmanager
def open_executor(scheduler: str | None = None) -> Iterator[Executor]:
    """Open the executor: two threads of this process, or the Dask cluster at an address
    (`tcp://host:8786`) that is given or in `PALIMPSEST_SCHEDULER`. Raises SpecError if dask is not
    installed, or nothing useful answers at the address."""
    address = scheduler or os.environ.get("PALIMPSEST_SCHEDULER", "").strip()
    if address:
        with cluster(address) as executor:
            yield executor
        return
    with local_executor() as executor:
        yield executor
