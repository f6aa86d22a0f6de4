"""What a sweep costs beside its tasks: cells of one task that sleeps, on threads and on Dask.

    python -m benchmarks.scheduling > benchmarks/scheduling.md

Sleeping needs no processor, so that other work on the machine hardly matters. A task says in which
process it ran; with it one sees whether tasks of one model stay together.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from unittest import mock

import pandas as pd

from benchmarks.naps import NAP, STUDY
from core.catalogue import STUDIES
from core.runs.cluster import ClusterExecutor, cluster
from core.runs.runner import open_executor
from core.runs.store import Store
from core.sweep.grid import Sweep, read_sweep
from core.sweep.running import Run

COUNTS = (0, 1, 2, 4)  # workers; 0 for threads
CELLS, SECONDS = 500, 1.0
MODELS, SEEDS, SHORT = 8, 25, 0.2  # of the sweep that shows where tasks run


def naps(folder: Path, models: int, seeds: int, seconds: float) -> Sweep:
    """Make a sweep of sleeping tasks."""
    STUDIES[STUDY] = NAP
    path = folder / "naps.yaml"
    names = ", ".join(f"zoo:m{number}" for number in range(models))
    numbers = ", ".join(map(str, range(seeds)))
    lines = (f"study: {STUDY}", f"model: [{names}]", f"number: [{numbers}]", f"seconds: {seconds}")
    path.write_text("\n".join(lines), encoding="utf8")
    return read_sweep(path)


@contextlib.contextmanager
def workers(count: int, threads: int = 1) -> Iterator[Executor]:
    """Start a cluster of processes here; with 0, the threads of this process."""
    if count == 0:
        with open_executor() as executor:
            yield executor
        return
    from distributed import LocalCluster  # processes that share a store

    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=count,
            threads_per_worker=threads,
            dashboard_address=None,
            local_directory=folder,
            silence_logs=50,
            env={"PALIMPSEST_STORE": str(Path(folder, "store"))},
        ) as local,
        cluster(local.scheduler_address) as executor,
    ):
        yield executor


def measure(count: int, models: int, seeds: int, seconds: float) -> tuple[float, pd.DataFrame]:
    """Run a sweep of sleeping tasks on `count` workers.

    Returns:
        Seconds that it took, and its rows.
    """
    with tempfile.TemporaryDirectory() as name, workers(count) as executor:
        folder = Path(name)
        sweep = naps(folder, models, seeds, seconds)
        run = Run(sweep, folder, Store(folder / "store"))
        began = time.monotonic()
        state = run.run(sweep.cells, executor)
        took = time.monotonic() - began
        assert len(state.finished) == models * seeds, state.failures
        return took, pd.read_parquet(folder / "results.parquet")


def main() -> None:
    """Print both tables."""
    print(f"{CELLS} cells of one task that sleeps {SECONDS:g} s, through a sweep.\n")
    print("| workers | ideal s | measured s | overhead | processor s of the sweep | load |")
    print("|---|---|---|---|---|---|")
    for count in COUNTS:
        used = time.process_time()
        took, _ = measure(count, 10, CELLS // 10, SECONDS)
        used = time.process_time() - used
        ideal = CELLS * SECONDS / (count or 2)
        name = f"{count} process{'es' * (count > 1)} (Dask)" if count else "2 threads"
        cells = (f"{ideal:.0f}", f"{took:.1f}", f"{took / ideal - 1:.1%}", f"{used:.1f}")
        print(f"| {name} | {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |", flush=True)
    print(f"\n{MODELS} models, {SEEDS} cells of each, tasks of {SHORT:g} s: where they ran.\n")
    print(
        "| workers | cells have places | tasks where most of their model's ran | workers a model |"
    )
    print("|---|---|---|---|")
    for count, placed in itertools.product((2, 4, 8), (True, False)):
        with (
            contextlib.nullcontext()
            if placed
            else mock.patch.object(ClusterExecutor, "within", lambda executor, addresses: executor)
        ):
            _, rows = measure(count, MODELS, SEEDS, SHORT)
        ran = {model: Counter(part) for model, part in rows.groupby("model")["process"]}
        together = sum(max(counts.values()) for counts in ran.values()) / len(rows)
        read = sum(len(counts) for counts in ran.values()) / MODELS
        print(
            f"| {count} | {'yes' if placed else 'no'} | {together:.0%} | {read:.2f} |", flush=True
        )


if __name__ == "__main__":
    main()
