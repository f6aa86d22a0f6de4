"""Time of the store: many small entries, one large entry, and waiting threads. `python -m
benchmarks.store`

Each number is the best of three in one run, in wall-clock and processor time, compared with plain
diskcache, which writes Python objects without checks and serves only as a baseline.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import diskcache
import numpy as np

from core.runs.store import Store, key_of

ENTRIES = 1_200
SHAPE = (7, 15, 128)  # layer, word, d_model: one sentence through an included model
ROUNDS = 3
WAITERS = 30


def best(work: Callable[[], object], rounds: int = ROUNDS) -> tuple[float, float]:
    """Seconds on the clock and of processor time, each the least of several rounds."""
    clock, processor = [], []
    for _ in range(rounds):
        began, used = time.perf_counter(), time.process_time()
        work()
        clock.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return min(clock), min(processor)


def row(what: str, ours: tuple[float, float], yardstick: tuple[float, float]) -> None:
    """One line of the table; the ratio is of processor times, which a busy machine changes
    least."""
    cells = [f"{1000 * seconds:>7.0f}" for seconds in (*ours, *yardstick)]
    print(f"| {what:<43} | {' | '.join(cells)} | {yardstick[1] / ours[1]:>5.1f}x |")


def small_entries(store: Store, plain: diskcache.Cache) -> None:
    """The words of 1,200 sentences, written and read."""
    rng = np.random.default_rng(0)
    items = {
        key_of(n): {"words": rng.standard_normal(SHAPE).astype(np.float16)} for n in range(ENTRIES)
    }

    def write_plain() -> None:
        for key, value in items.items():
            plain.set(key, value)

    row(
        f"write {ENTRIES:,} entries of {SHAPE} float16",
        best(lambda: store.put_many(items)),
        best(write_plain),
    )
    one_by_one = best(lambda: [plain.get(key) for key in items])
    row(
        f"read {ENTRIES:,} entries of {SHAPE} float16",
        best(lambda: store.get_many(items)),
        one_by_one,
    )
    row(
        f"look for {ENTRIES:,} absent entries",
        best(lambda: store.get_many(map(key_of, "x" * ENTRIES))),
        best(lambda: [plain.get(key_of("x", n)) for n in range(ENTRIES)]),
    )


def large_entry(store: Store, plain: diskcache.Cache) -> None:
    """One array of 50 MB."""
    value = {"array": np.random.default_rng(0).standard_normal((13, 2500, 768)).astype(np.float16)}
    megabytes = value["array"].nbytes / 1e6
    row(
        f"write one entry of {megabytes:.0f} MB",
        best(lambda: store.put("large", value)),
        best(lambda: plain.set("large", value)),
    )
    row(
        f"read one entry of {megabytes:.0f} MB, checked",
        best(lambda: store.get("large")),
        best(lambda: plain.get("large")),
    )


def waiting(store: Store, plain: diskcache.Cache) -> None:
    """Processor time used by threads that wait a second for one that computes."""

    def share(
        hold: Callable[[threading.Event], None], ask: Callable[[], object]
    ) -> tuple[float, float]:
        release = threading.Event()
        threads = [threading.Thread(target=hold, args=(release,))]
        threads += [threading.Thread(target=ask) for _ in range(WAITERS)]
        for thread in threads:
            thread.start()
        used = time.process_time()
        time.sleep(1)
        used = time.process_time() - used
        release.set()
        for thread in threads:
            thread.join()
        return 1.0, used

    def spin() -> None:
        with diskcache.Lock(plain, "lock"):
            pass

    def hold_plain(release: threading.Event) -> None:
        with diskcache.Lock(plain, "lock"):
            release.wait()

    def hold(release: threading.Event) -> None:
        store.get_or_compute("waited", lambda: {"released": release.wait()})

    ours = share(hold, lambda: store.get_or_compute("waited", dict))
    row(f"{WAITERS} threads wait a second for another", ours, share(hold_plain, spin))


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        store, plain = (
            Store(Path(folder, "ours")),
            diskcache.Cache(str(Path(folder, "plain")), size_limit=2**31),
        )
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
        print(f"| {'milliseconds':<43} |   store |     cpu | plain   |     cpu |  ratio |")
        print(f"|{'-' * 45}|{'--------:|' * 4}-------:|")
        for measure in (small_entries, large_entry, waiting):
            measure(store, plain)


if __name__ == "__main__":
    main()
