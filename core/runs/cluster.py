"""A Dask cluster as an executor that keeps groups of tasks together."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, cast

from core.errors import SpecError
from core.runs.price import Cost
from core.runs.tasks import Task, stop_here

CONNECT_SECONDS = 5
ANSWER_SECONDS = 5.0  # that workers have to answer that a run was cancelled


class ClusterExecutor(Executor):
    """A Dask cluster with an executor for each group of tasks.

    A group prefers its workers and goes elsewhere when they are gone, or when others have nothing
    to do. A task whose worker dies is run again by the scheduler, on another.
    """

    def __init__(self, client: Any, within: Sequence[str] = ()) -> None:
        """Take a connected distributed.Client, and the addresses of workers that all groups prefer
        (empty for any)."""
        self._client, self._within = client, within
        self._workers: dict[str, list[str]] = {}

    def workers(self) -> dict[str, int]:
        """Return the addresses of all workers, sorted, and how many tasks each runs at once."""
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return {address: int(workers[address].get("nthreads", 1)) for address in sorted(workers)}

    def within(self, workers: Sequence[str]) -> ClusterExecutor:
        """Return the same cluster for a study whose tasks prefer these workers."""
        return ClusterExecutor(self._client, tuple(workers))

    def place(self, tasks: Sequence[Task], costs: Mapping[str, Cost]) -> None:
        """Assign workers to groups of tasks in proportion, the largest group first."""
        present = [*self.workers()]
        workers = [address for address in present if address in self._within] or present
        load = dict.fromkeys(workers, 0.0)
        for group, size in Counter(task.group for task in tasks).most_common():
            share = max(1, round(len(workers) * size / len(tasks)))
            nearest = sorted(workers, key=load.__getitem__)[:share]
            for worker in nearest:
                load[worker] += size / share
            self._workers[group] = nearest

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a task; see concurrent.futures.Executor. Its group decides the workers."""
        group = args[0].group if args and isinstance(args[0], Task) else ""
        workers = self._workers.get(group)
        where = {"workers": workers, "allow_other_workers": True} if workers else {}
        return cast(
            "Future[Any]",
            self._client.get_executor(pure=False, **where).submit(function, *args, **kwargs),
        )

    def stop(self, identifier: str) -> None:
        """Tell every worker that a run was cancelled."""
        call = threading.Thread(
            target=self._client.run,
            args=(stop_here, identifier),
            kwargs={"on_error": "ignore"},
            daemon=True,
        )
        call.start()
        call.join(ANSWER_SECONDS)


@contextlib.contextmanager
def cluster(address: str) -> Iterator[ClusterExecutor]:
    """Connect to the cluster at `address`, which needs at least one worker.

    Raises:
        SpecError: If dask is not installed, or nothing useful answers at the address.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise SpecError(
            f"To run on the scheduler {address} install dask: pip install 'dask[distributed]'; "
            "or leave out --scheduler to run on this machine."
        ) from error
    # Made in two steps, so that there is something to close when connecting fails: a client that is
    # left to the garbage collector closes itself whenever that runs, and may then wait for a lock
    # that its own thread holds.
    client: Any = Client.__new__(Client)
    try:
        try:
            client.__init__(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise SpecError(
                f"No Dask scheduler answers at {address!r}; "
                "an address looks like tcp://localhost:8786, and `dask scheduler` starts one. "
                "Leave it out to run on this machine."
            ) from error
        try:
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise SpecError(
                f"The scheduler at {address} has no workers; "
                f"start one with `dask worker {address}`."
            ) from error
        yield ClusterExecutor(client)
    finally:
        client.close()
