"""Studies in the background: one worker, one queue, results shared by everybody who asks for the same study.

A job belongs to the process, not to a session: it outlives reruns, page changes and closed tabs. The worker never
touches streamlit; it reports through the progress callback that it hands to the study, and whoever shows the job
reads `Job.progress` when it likes. Nothing here imports streamlit, so the tests drive it directly.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.errors import CancelledError, PalimpsestError

if TYPE_CHECKING:
    from core.runs.runner import Progress

KEPT = 16  # finished jobs that stay; older ones are found again in the store
WATCHING = 10.0  # seconds after which a session that has not asked counts as gone
HEAVY = ("altair", "datasets", "pandas", "scipy", "sklearn", "spacy", "torch", "transformers")

Work = Callable[[Callable[["Progress"], None], threading.Event], Any]


class QueueFullError(PalimpsestError):
    """Too many studies are waiting; what is running goes on."""


class State(StrEnum):
    """Where a job stands."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(eq=False)
class Job:
    """One run of one study.

    Attributes:
        key: The study's hash; two sessions with the same hash share the job.
        title: A few words for people.
        state: Where it stands; `result` is there when DONE, `error` when FAILED.
        progress: The last report, None before the first.
        seconds: Wall-clock time of the run, 0 until it ends.
        cancel: Set to ask the worker to stop.
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
    cancel: threading.Event = field(default_factory=threading.Event, repr=False)
    ended: threading.Event = field(default_factory=threading.Event, repr=False)
    watchers: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def over(self) -> bool:
        """Whether the job has ended, one way or another."""
        return self.ended.is_set()

    @property
    def from_store(self) -> bool:
        """Whether every number was there already."""
        return self.progress is not None and 0 < self.progress.total <= self.progress.stored

    @property
    def complete(self) -> bool:
        """Done, with no task that failed on the way."""
        return self.state is State.DONE and not getattr(self.result, "failures", None)


class Jobs:
    """The registry: submit, watch, cancel. Thread-safe."""

    def __init__(self, kept: int = KEPT, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept = kept
        self._clock = clock
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: deque[Job] = deque()
        self._change = threading.Condition()
        self._worker: threading.Thread | None = None

    def ask(
        self,
        key: str,
        title: str,
        work: Work,
        *,
        watcher: str = "",
        again: bool = False,
        most: int | None = None,
    ) -> Job:
        """The job of this key: the one that is waiting, running or done, or else a new one.

        Args:
            key: The study's hash.
            title: A few words for people.
            work: Called in the worker as work(progress, cancel); its return value becomes the result.
            watcher: Who asks; see `leave`.
            again: Run anew if the job of this key failed, was cancelled, or has tasks that failed.
            most: How many jobs may wait or run at once.

        Raises:
            QueueFullError: If a new job would be one more than that.
        """
        with self._change:
            job = self._jobs.get(key)
            stopping = job is not None and job.cancel.is_set()
            if job is not None and (not again or job.complete or not (job.over or stopping)):
                job.watchers[watcher] = self._clock()
                self._jobs.move_to_end(key)
                return job
            open_jobs = sum(not other.over for other in self._jobs.values())
            if most is not None and open_jobs >= most:
                raise QueueFullError(
                    f"{open_jobs} studies are waiting or running, which is as many as may; "
                    "try again in a minute, or run the app on your own computer."
                )
            job = Job(key, title, work)
            job.watchers[watcher] = self._clock()
            self._jobs[key] = job
            self._jobs.move_to_end(key)
            self._queue.append(job)
            self._forget_oldest()
            self._start_worker()
            self._change.notify_all()
            return job

    def find(self, key: str) -> Job | None:
        """The job of this key, if it is still known."""
        with self._change:
            return self._jobs.get(key)

    def watch(self, job: Job, watcher: str) -> None:
        """Say that somebody is still looking at this job."""
        with self._change:
            job.watchers[watcher] = self._clock()

    def ahead(self, job: Job) -> int:
        """How many jobs run before this one does; 0 when it runs or has ended."""
        with self._change:
            if job.state is not State.WAITING or job not in self._queue:
                return 0
            running = any(other.state is State.RUNNING for other in self._jobs.values())
            return self._in_order().index(job) + int(running)

    def leave(self, job: Job, watcher: str = "") -> bool:
        """Cancel the job for this watcher: it stops unless somebody else has asked for it within ten seconds.

        Returns:
            True if the job is being stopped, False if it goes on for others.
        """
        with self._change:
            job.watchers.pop(watcher, None)
            if self._watched(job):
                return False
            job.cancel.set()
            if job.state is State.WAITING and job in self._queue:
                self._queue.remove(job)
                self._end(job, State.CANCELLED)
            return True

    def _watched(self, job: Job) -> bool:
        return any(self._clock() - seen < WATCHING for seen in job.watchers.values())

    def _in_order(self) -> list[Job]:
        """First those that somebody is looking at, each group in the order in which it was asked for."""
        return sorted(self._queue, key=lambda job: not self._watched(job))

    def _take_next(self) -> Job:
        job = self._in_order()[0]
        self._queue.remove(job)
        return job

    def _start_worker(self) -> None:
        if self._worker is None or not self._worker.is_alive():
            self._worker = threading.Thread(target=self._serve, name="studies", daemon=True)
            self._worker.start()

    def _serve(self) -> None:
        while True:
            with self._change:
                while not self._queue:
                    self._change.wait()
                job = self._take_next()
                job.state, job.started = State.RUNNING, self._clock()
            self._run(job)
            freeze_heavy_imports()
            del job  # an idle worker must not keep the last result alive

    def _run(self, job: Job) -> None:
        def report(progress: Progress) -> None:
            job.progress = progress

        state = State.FAILED
        try:
            job.result = job.work(report, job.cancel)
            state = State.DONE
        except CancelledError:
            state = State.CANCELLED
        except PalimpsestError as error:
            job.error = error
        except BaseException as error:
            # A bug ends the job, never the worker: whoever shows the job raises it there.
            logging.getLogger(__name__).exception("the study %s failed", job.title)
            job.error = error
        with self._change:
            self._end(job, state)

    def _end(self, job: Job, state: State) -> None:
        job.state = state
        job.seconds = self._clock() - job.started if job.started else 0.0
        job.work = _nothing  # lets go of the spec and of an uploaded text
        job.ended.set()

    def _forget_oldest(self) -> None:
        ended = [key for key, job in self._jobs.items() if job.over]
        for key in ended[: max(0, len(ended) - self._kept)]:
            del self._jobs[key]


def _nothing(progress: Callable[[Progress], None], cancel: threading.Event) -> None:
    """What a finished job would do if it ran again."""


_frozen: set[str] = set()


def freeze_heavy_imports() -> bool:
    """Take what the heavy imports left behind out of the garbage collector's sight, once for each of them.

    Streamlit collects after every script run: a third of a second under the interpreter's lock once torch and
    transformers are loaded, which thirty readers feel. Frozen objects are not looked at again.

    Returns:
        Whether there was something new to freeze.
    """
    new = {name for name in HEAVY if name in sys.modules} - _frozen
    if new:
        gc.collect()
        gc.freeze()
        _frozen.update(new)
    return bool(new)
