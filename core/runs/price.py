"""The expected price of a study: seconds, download, disk space and memory.

A task knows how many processor seconds it takes on the machine where it was measured (`Cost`);
`speed` asks this machine how fast it multiplies, and large studies are scaled by it. Two tasks run
at once, each on a core of its own: the seconds said are half of the processor's, and never fewer
than those of the longest task (`wall_seconds`). `benchmarks/prices.py` compares what is said with
what is measured."""

from __future__ import annotations

import os
import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from core.errors import SpecError
from core.limits import current_limits
from core.runs.process.cores import TASKS_AT_ONCE, VARIABLE, limit_threads
from core.runs.process.memory import free_memory

MEASURED = 100e9  # floating-point operations a second, one core, where seconds were measured
# seconds and gigabytes (to download or to keep) above which a study asks before it starts
LONG, LARGE = 60.0, 2.0
SHARE = 0.5  # of the free memory, above which it asks too
WORTH_ASKING = 60.0  # seconds on the measured machine from which this one is asked how fast it is
SIDE, TRIES = 512, 15  # of the matrices that are multiplied to ask, the fastest of which counts


@dataclass(frozen=True)
class Cost:
    """What one task takes on the measured machine.

    Attributes:
        seconds: Of a processor.
        memory: Bytes at its peak, beside the libraries and what is shared.
        store: Bytes that it keeps.
        shared: What tasks of a run do once and share, such as a model's vectors of a text, by what
            it is known by.
        torch: Whether models run; numpy is enough for weights.
        fetched: Share of the models' files that it downloads, where they are not here.
    """

    seconds: float
    memory: float = 0.0
    store: float = 0.0
    shared: Mapping[Hashable, Cost] = field(default_factory=dict)
    torch: bool = True
    fetched: float = 1.0


@dataclass(frozen=True)
class Price:
    """The expected price on two cores.

    Attributes:
        seconds: Until it ends.
        memory: Gigabytes of the process at its peak, libraries and all.
        download, store: Gigabytes.
        work: What there is to do, such as "300 pairs of 25 models".
        measured: Whether sizes were asked of the files; else they are those of models of their
            kind.
        processor: Seconds of all cores together.
    """

    seconds: float
    memory: float
    download: float = 0.0
    store: float = 0.0
    work: str = ""
    measured: bool = True
    processor: float = 0.0

    @property
    def asks(self) -> bool:
        """Whether a reader should see the price before the start."""
        much = self.memory > SHARE * free_memory() / 1e9
        return self.seconds > LONG or max(self.download, self.store) > LARGE or much

    @property
    def excess(self) -> str:
        """The limit that is exceeded: "download", "seconds" or "memory"; "" for none."""
        limits = current_limits()
        allowed = {
            "download": limits.max_download_bytes / 1e9,
            "seconds": limits.max_seconds,
            "memory": limits.max_memory_bytes / 1e9,
        }
        return next((limit for limit, most in allowed.items() if getattr(self, limit) > most), "")

    @property
    def sentence(self) -> str:
        """The price in one sentence."""
        parts = [f"about {duration_text(self.seconds)} on two cores"]
        if self.download:
            parts.append(f"{gigabytes_text(self.download)} to download")
        if self.store >= 0.05:
            parts.append(f"{gigabytes_text(self.store)} in the store")
        parts.append(f"{gigabytes_text(self.memory)} of memory")
        work = f"{self.work}: " if self.work else ""
        doubt = "" if self.measured else " (estimated sizes; the hub could not be asked)"
        return f"Expected: {work}{', '.join(parts)}{doubt}."

    def refuse_where_shared(self, advice: str = "choose fewer or smaller models") -> None:
        """Raise SpecError, with the advice on what to lower, if the study takes longer, needs more
        memory or downloads more than this shared instance allows."""
        if self.excess:
            raise SpecError(self.refusal(advice))

    def refusal(self, advice: str) -> str:
        """Say what the study would take beyond the limit that it exceeds, and what to lower."""
        limits = current_limits()
        sentences = {
            "download": f"download {gigabytes_text(self.download)}, "
            f"and this instance keeps {gigabytes_text(limits.max_download_bytes / 1e9)} of models",
            "seconds": (
                f"take about {duration_text(self.seconds)}, "
                f"and this instance allows {duration_text(limits.max_seconds)}"
            ),
            "memory": f"need {gigabytes_text(self.memory)} of memory, "
            f"and this instance allows {gigabytes_text(limits.max_memory_bytes / 1e9)}",
        }
        return (
            f"This study would {sentences[self.excess]}: "
            f"{advice}, or run Palimpsest on your own computer."
        )


def combined(prices: Iterable[Price]) -> Price:
    """Sum the prices of studies on the same models, which are downloaded once."""
    each = tuple(prices)
    return Price(
        seconds=sum(price.seconds for price in each),
        memory=max((price.memory for price in each), default=0.0),
        download=max((price.download for price in each), default=0.0),
        store=max((price.store for price in each), default=0.0),
        measured=all(price.measured for price in each),
        processor=sum(price.processor for price in each),
    )


def wall_seconds(tasks: Iterable[float]) -> float:
    """Convert processor seconds per task to seconds on two cores."""
    each = tuple(tasks)
    return max(sum(each) / TASKS_AT_ONCE, max(each, default=0.0))


def on_this_machine(seconds: float) -> float:
    """Convert seconds to this machine; small studies are not converted."""
    return seconds / speed() if seconds > WORTH_ASKING else seconds


@cache
def speed() -> float:
    """Measure the speed of one core of this machine, relative to one of the machine of the prices,
    where something else may be running."""
    import numpy as np

    if VARIABLE not in os.environ:
        limit_threads()  # time that the library's other threads take is not seen here
    matrix = np.ones((SIDE, SIDE), dtype=np.float32)
    best = float("inf")
    for _ in range(TRIES):
        began = time.process_time()
        matrix @ matrix
        best = min(best, time.process_time() - began)
    return 2 * SIDE**3 / max(best, 1e-6) / MEASURED


def duration_text(seconds: float) -> str:
    """Write a duration in words."""
    if seconds < 90:
        return f"{max(10, 10 * round(seconds / 10))} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"


def gigabytes_text(amount: float) -> str:
    """Write an amount in gigabytes."""
    return f"{amount:,.0f} GB" if amount >= 10 else f"{amount:.1f} GB"
