"""Background jobs: one queue of studies, and one result for everybody who asks for the same study.

A job belongs to the process, not to a session: it outlives reruns, page changes and closed tabs.
The worker never uses streamlit: it reports through the progress callback, and pages read
`Job.progress`. Nothing here imports streamlit, so the tests can drive it directly.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from core.errors import CancelledError, GaveWayError, NotStoredError, PalimpsestError
from core.limits import UNLIMITED
from core.runs.tasks import Signal
from ui.frame.process import Work, freeze_heavy_imports

if TYPE_CHECKING:
    from core.runs.runner import Progress

# Finished jobs: kept in any case, at most, and while their results hold this many bytes
KEPT, MOST, HELD = 16, 256, 2**26
LOOKED, LOOKS = 512, 256  # looks: kept that found a study not stored; waiting at once
OVERDUE, SOONEST = 10, 600.0  # times its price, and seconds, after which an unwatched study ends
WATCHING = 10.0  # seconds after which a session that has not asked again counts as gone


class QueueFullError(PalimpsestError):
    """Too many studies are waiting or running."""


class State(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    NOT_STORED = "not stored"


@dataclass(eq=False)
class Job:
    """One run of one study.

    Attributes:
        key: The study's hash; two sessions with the same hash share the job.
        title: The study's name for people.
        state: Its state; `result` is set when it is DONE, `error` when it has FAILED.
        progress: The last report; None before the first.
        seconds: Wall-clock time of the run; 0 until it ends.
        size: Bytes of the result's tables and arrays.
        expected: Seconds that the study should take, by its price.
        owner: The session that asked first.
        looking: Whether the quick lane handles it, which only reads the store.
        only_stored: Whether it ends as NOT_STORED if not everything is stored.
        signal: Set to ask the worker to stop.
        ended: Set when the state is final.
    """

    key: str
    title: str
    work: Work = field(repr=False)
    state: State = State.WAITING
    progress: Progress | None = None
    result: Any = field(default=None, repr=False)
    error: BaseException | None = None
    started: float = 0.0
    seconds: float = 0.0
    size: int = 0
    expected: float = UNLIMITED
    owner: str = ""
    looking: bool = False
    only_stored: bool = False
    signal: Signal = field(default_factory=Signal, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)
    watchers: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def over(self) -> bool:
        """Whether the job has ended, in whatever state."""
        return self.ended.is_set()

    @property
    def from_store(self) -> bool:
        """Whether every result was in the store."""
        return self.progress is not None and 0 < self.progress.total <= self.progress.stored

    @property
    def from_box(self) -> bool:
        """Whether every result was stored, and some of them were precomputed."""
        return self.from_store and self.progress is not None and self.progress.shipped > 0

    @property
    def complete(self) -> bool:
        """Whether the job is done and none of its tasks failed."""
        return self.state is State.DONE and not getattr(self.result, "failures", None)


class Jobs:
    """The registry of jobs: submit, watch, cancel. Thread-safe.

    The quick lane reads studies that are stored completely, so that they never queue. The other
    lane computes one study at a time: watched studies first, sessions in turn; one that nobody
    watches any more stops after its current task if a watched one is waiting, and at once when it
    has taken many times its price.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: list[Job] = []
        self._looks: list[Job] = []
        self._turns: dict[str, int] = {}  # who asked -> the number of the last run that was theirs
        self._runs = 0
        self._took: deque[float] = deque(maxlen=20)  # seconds of the last studies computed
        self._change = threading.Condition()
        self._workers: dict[str, threading.Thread] = {}

    def ask(
        self,
        key: str,
        title: str,
        work: Work,
        *,
        watcher: str = "",
        again: bool = False,
        look: bool = False,
        only_stored: bool = False,
        most: int | None = None,
        expected: float = UNLIMITED,
    ) -> Job:
        """Return the job of this key, or a new one. `again` runs a failed or cancelled one once
        more, `look` first checks without queueing, `only_stored` only checks. Raises QueueFullError
        beyond `most`, of which a watcher may have a quarter."""
        with self._change:
            job = self._jobs.get(key)
            if job is not None and not only_stored:
                job.only_stored = False
                job = None if job.state is State.NOT_STORED else job
            if job is None or (again and not job.complete and (job.over or job.signal.is_set())):
                if only_stored and len(self._looks) >= LOOKS:
                    raise QueueFullError("Too many pages wait for results: try again later.")
                if most is not None and not only_stored:
                    self._make_room(watcher, most)
                job = Job(key, title, work, expected=expected, owner=watcher)
                job.looking, job.only_stored = look or only_stored, only_stored
                self._jobs[key] = job
                (self._looks if job.looking else self._queue).append(job)
                self._forget_oldest()
                self._start_worker("look" if job.looking else "compute")
                self._change.notify_all()
            self.watch(job, watcher)
            self._jobs.move_to_end(key)
            return job

    def watch(self, job: Job, watcher: str) -> None:
        """Note that a session still watches this job; those who see its result are not kept."""
        with self._change:
            if not job.over:
                job.watchers[watcher] = self._clock()

    def ahead(self, job: Job) -> int:
        """Count the jobs that run before this one; 0 when it runs or has ended."""
        with self._change:
            if job not in self._queue:
                return 0
            return self._in_order().index(job) + int(self._running() is not None)

    def wait_seconds(self, job: Job) -> float | None:
        """Estimate the seconds until this job runs; None if nothing is known."""
        with self._change:
            if job not in self._queue or (running := self._running()) is None:
                return None
            left = running.progress.remaining if running.progress else None
            before = self._in_order().index(job)
            if left is None or (before and not self._took):
                return None
            return left + before * (sum(self._took) / len(self._took) if self._took else 0.0)

    def leave(self, job: Job, watcher: str = "") -> bool:
        """Cancel the job for this watcher, unless another session watches it; return whether."""
        with self._change:
            job.watchers.pop(watcher, None)
            if self._watched(job):
                return False
            self._stop(job)
            return True

    def _stop(self, job: Job) -> None:
        job.signal.set()
        for waiting in (self._queue, self._looks):
            if job in waiting:
                waiting.remove(job)
                self._end(job, State.CANCELLED)

    def _make_room(self, watcher: str, most: int) -> None:
        """Refuse a new job if there are too many; waiting ones that nobody watches are dropped
        first: this watcher's, and if the queue is full anybody's, the oldest first."""
        theirs = [job for job in self.unfinished(asked=True) if job.owner == watcher]
        each = max(2, most // 4)
        for job in filter(self._abandoned, theirs if len(theirs) >= each else ()):
            self._stop(job)
        theirs = [job for job in theirs if not job.over]
        if watcher and len(theirs) >= each:
            raise QueueFullError(
                f"{len(theirs)} of your studies are waiting or running, which is the limit. "
                "Cancel one, or wait until one has ended."
            )
        waiting = [job for job in (*self._looks, *self._queue) if self._abandoned(job)]
        for job in waiting[: max(0, len(self.unfinished(asked=True)) + 1 - most)]:
            self._stop(job)
        if (count := len(self.unfinished(asked=True))) >= most:
            raise QueueFullError(
                f"{count} studies are waiting or running, which is the limit of this instance. "
                "Try again in a minute, or run the app on your own computer."
            )

    def _watched(self, job: Job) -> bool:
        return any(self._clock() - seen < WATCHING for seen in job.watchers.values())

    def _abandoned(self, job: Job) -> bool:
        """Whether the job waits and nobody watches it."""
        return job in (*self._queue, *self._looks) and not self._watched(job)

    def unfinished(self, asked: bool = False) -> list[Job]:
        """Return the jobs that wait or run; with `asked`, without those that only look."""
        with self._change:
            jobs = [job for job in self._jobs.values() if not job.over]
        return [job for job in jobs if not (asked and job.only_stored)]

    def _running(self) -> Job | None:
        computing = (job for job in self.unfinished() if not job.looking)
        return next((job for job in computing if job.state is State.RUNNING), None)

    def _in_order(self) -> list[Job]:
        """Sort the queue: watched jobs first, then by the owner's last turn, then by age."""
        return sorted(
            self._queue, key=lambda job: (not self._watched(job), self._turns.get(job.owner, 0))
        )

    def _start_worker(self, lane: str) -> None:
        if (worker := self._workers.get(lane)) is None or not worker.is_alive():
            self._workers[lane] = threading.Thread(
                target=self._serve, args=(lane,), name=f"studies-{lane}", daemon=True
            )
            self._workers[lane].start()

    def _serve(self, lane: str) -> None:
        """Run a lane's jobs; those of the quick lane that are not all stored go to the queue."""
        looking = lane == "look"
        waiting = self._looks if looking else self._queue
        while True:
            with self._change:
                while not waiting:
                    self._change.wait()
                job = waiting.pop(0) if looking else self._take_next()
                job.state, job.started = State.RUNNING, self._clock()
                job.signal = Signal(look_only=looking)
            self._run(job)
            freeze_heavy_imports()
            del job  # an idle worker must not keep the last result alive

    def _take_next(self) -> Job:
        """Remove the job that is computed next from the queue; it is its owner's turn."""
        job = self._in_order()[0]
        self._queue.remove(job)
        self._turns[job.owner] = self._runs = self._runs + 1
        return job

    def _run(self, job: Job) -> None:
        def report(progress: Progress) -> None:
            job.progress = progress
            with self._change:
                if job.looking or self._watched(job):
                    return
                if any(map(self._watched, self._queue)):
                    job.signal.give_way.set()
                if self._clock() - job.started > max(SOONEST, OVERDUE * job.expected):
                    job.signal.set()

        state = State.FAILED
        try:
            job.result = job.work(report, job.signal)
            state = State.DONE
        except (NotStoredError, GaveWayError):
            self._queue_again(job)
            return
        except CancelledError:
            state = State.CANCELLED
        except PalimpsestError as error:
            job.error = error
        except BaseException as error:
            # A bug ends the job, never the worker; the page that shows the job raises it.
            logging.getLogger(__name__).exception("the study %s failed", job.title)
            job.error = error
        with self._change:
            self._end(job, state)

    def _queue_again(self, job: Job) -> None:
        with self._change:
            if job.signal.is_set() or job.only_stored:
                self._end(job, State.CANCELLED if job.signal.is_set() else State.NOT_STORED)
                return
            job.state, job.looking, job.progress = State.WAITING, False, None
            self._queue.append(job)
            self._start_worker("compute")
            self._change.notify_all()

    def _end(self, job: Job, state: State) -> None:
        job.state = state
        job.seconds = self._clock() - job.started if job.started else 0.0
        if state is State.DONE and not job.looking and not job.from_store:
            self._took.append(job.seconds)
        job.size = getattr(job.result, "nbytes", 0)
        job.work = lambda progress, signal: None  # frees the spec and an uploaded text
        job.ended.set()

    def _forget_oldest(self) -> None:
        """Forget what nobody has asked for in the longest time, beyond what is kept."""
        ended = [job for job in reversed(self._jobs.values()) if job.over]
        looks = [job for job in ended if job.state is State.NOT_STORED]
        results = [job for job in ended if job.state is not State.NOT_STORED]
        fitting = sum(held <= HELD for held in accumulate(job.size for job in results))
        for job in (*results[min(MOST, max(KEPT, fitting)) :], *looks[LOOKED:]):
            del self._jobs[job.key]
        for gone in self._turns.keys() - {job.owner for job in self._jobs.values()}:
            del self._turns[gone]
