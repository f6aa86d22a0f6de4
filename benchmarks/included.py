"""What a class waits for: studies of the included models at their defaults, from the command line.

    python -m benchmarks.included > benchmarks/included.md

Each runs cold, in a process and a store of its own, with and without the second process that
computes half of a long run's tasks (`core.runs.process.second`), in turn. Seconds by the clock hold
on a quiet machine alone; the load before each run is shown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

STUDIES = {"weights": 5, "rsa": 10, "probe": 45, "align": 45}  # aims in seconds
PROGRAM = """
import sys
from benchmarks.prices import used
from core.commands.main import main
from core.runs.process import second
if sys.argv[1] == "one":
    second.WORTH = float("inf")
status = main(sys.argv[2:])
spent = used()
print(status, spent["cpu"], spent["hwm"])
"""


def measure(words: list[str], processes: str = "two") -> tuple[float, float, float, float]:
    """Seconds by the clock, of processors, gigabytes at the peak, and the load before, of a command
    run cold.

    Raises:
        RuntimeError: If the study failed.
    """
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="palimpsest-included-") as store:
        environment = {**os.environ, "PALIMPSEST_STORE": store, "PALIMPSEST_PRECOMPUTED": "none"}
        command = [sys.executable, "-c", PROGRAM, processes, *words, "--yes", "--out"]
        begun = time.monotonic()
        said = subprocess.run(
            [*command, f"{store}/out"], env=environment, check=True, capture_output=True, text=True
        )
        seconds = time.monotonic() - begun
    status, processor, peak = map(float, said.stdout.splitlines()[-1].split())
    if status:
        raise RuntimeError(f"{words} ended with {status:.0f}: {said.stdout}")
    return seconds, processor, peak, load


def rows(studies: list[str], rounds: int) -> Iterator[str]:
    """The table, a line a run."""
    yield "| study | processes | s | aim | processor s | GB | load before |"
    yield "|---|---|---|---|---|---|---|"
    for study in studies:
        for _ in range(rounds):
            for processes in ("one", "two"):
                seconds, processor, peak, load = measure([study], processes)
                aim = STUDIES[study] if processes == "two" else ""
                numbers = f"{seconds:.1f} | {aim} | {processor:.0f} | {peak:.2f} | {load:.1f}"
                yield f"| `{study}` | {processes} | {numbers} |"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--studies", choices=STUDIES, nargs="+", default=list(STUDIES))
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    print("`python -m benchmarks.included`, two cores; each line is one run, cold.\n")
    for row in rows(given.studies, given.rounds):
        print(row, flush=True)


if __name__ == "__main__":
    main()
