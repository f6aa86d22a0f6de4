"""What a study will cost, said before it starts: hours, gigabytes to download, to keep and in memory.

A study knows how many processor seconds it takes on the machine where it was measured; `speed` asks this machine how
fast it multiplies, and large studies are scaled by it. A price is an estimate: half or twice as much is no surprise.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

from core.errors import SpecError
from core.limits import current_limits

LIBRARIES = 0.8  # gigabytes of memory before any model
MEASURED = 150e9  # floating-point operations a second, one core, where seconds were measured
LONG, LARGE = 600.0, 2.0  # seconds and gigabytes (to download or to keep) from which a study asks before it starts
WORTH_ASKING = 60.0  # seconds on the measured machine from which this one is asked how fast it is
SIDE = 768  # of the matrices that are multiplied to ask


@dataclass(frozen=True)
class Price:
    """What is expected, on two cores.

    Attributes:
        seconds: Until it ends.
        download, store, memory: Gigabytes.
        work: What there is to do, such as "300 pairs of 25 models".
        known: Whether sizes were asked of the files; else they are those of models of their kind.
    """

    seconds: float
    memory: float
    download: float = 0.0
    store: float = 0.0
    work: str = ""
    known: bool = True

    @property
    def asks(self) -> bool:
        """Whether a reader should see this before it starts."""
        return self.seconds > LONG or max(self.download, self.store) > LARGE

    @property
    def sentence(self) -> str:
        """The price in one sentence."""
        parts = [f"about {length(self.seconds)} on two cores"]
        if self.download:
            parts.append(f"{gigabytes(self.download)} to download")
        if self.store >= 0.05:
            parts.append(f"{gigabytes(self.store)} in the store")
        parts.append(f"{gigabytes(self.memory)} of memory")
        work = f"{self.work}: " if self.work else ""
        known = "" if self.known else " (sizes as known; the hub could not be asked)"
        return f"Expected: {work}{', '.join(parts)}{known}."

    def refuse_where_shared(self) -> None:
        """Refuse what a shared instance must not begin.

        Raises:
            SpecError: If it takes longer, or downloads more, than this instance allows.
        """
        limits = current_limits()
        most = limits.max_download_bytes / 1e9
        if limits.shared and self.download > most:
            raise SpecError(
                f"This study would download {gigabytes(self.download)}, and this instance keeps {gigabytes(most)} of "
                "models: choose fewer, or run Palimpsest on your own computer."
            )
        if limits.shared and self.seconds > limits.max_seconds:
            raise SpecError(
                f"This study would take about {length(self.seconds)}, and this instance allows "
                f"{length(limits.max_seconds)}: choose fewer models, or run Palimpsest on your own computer."
            )


def on_this_machine(seconds: float) -> float:
    """Seconds here of what takes so many where they were measured; small studies are not worth asking."""
    return seconds / speed() if seconds > WORTH_ASKING else seconds


@cache
def speed() -> float:
    """How fast one core here multiplies, in units of the machine where seconds were measured."""
    import numpy as np

    matrix = np.ones((SIDE, SIDE), dtype=np.float32)
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        matrix @ matrix
        best = min(best, time.process_time() - began)
    return 2 * SIDE**3 / max(best, 1e-6) / MEASURED


def length(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"{max(10, 10 * round(seconds / 10))} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"


def gigabytes(amount: float) -> str:
    """An amount in gigabytes as people say it."""
    return f"{amount:,.0f} GB" if amount >= 10 else f"{amount:.1f} GB"
