"""Processor time of figures: of a command whose results are stored, and of the figures alone.

`python -m benchmarks.figures [CHECKOUT ...]` measures this checkout, or several in turn, so that
other load slows all of them alike. Seconds are user and system time. A command that draws its
figures for the first time is run once; the others are the minimum of several rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = ("rsa", "weights", "probe", "align")
ROUNDS = 2
COLUMNS = ("figures new", "all stored", "figures alone")
FIRST = """
import sys, time
from core.catalogue import STUDIES
study = STUDIES[sys.argv[1]]
result = study.run(study.Spec())
began = time.process_time()
[chart.to_dict() for chart in study.figures(result).values()]
print(time.process_time() - began)
"""


def command_seconds(checkout: Path, command: str, folder: Path) -> float:
    """Processor seconds of `python -m core COMMAND --out`, its children included."""
    words = [sys.executable, "-m", "core", command, "--out", str(folder / "out")]
    before = os.times()
    subprocess.run(words, cwd=checkout, env=_environment(folder), check=True, capture_output=True)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def figures_seconds(checkout: Path, command: str, folder: Path) -> float:
    """Processor seconds from a result in memory to the specifications of its figures; imports were
    made before."""
    words = [sys.executable, "-c", FIRST, command]
    done = subprocess.run(
        words, cwd=checkout, env=_environment(folder), check=True, capture_output=True, text=True
    )
    return float(done.stdout.split()[-1])


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PALIMPSEST_STORE": str(folder / "store"), "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Print a table: a row a command, columns a checkout."""
    checkouts = [Path(name).resolve() for name in sys.argv[1:]] or [Path.cwd()]
    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(f"{cores} cores, load {load:.1f}\n")
    names = [f"{what}, {checkout.name}" for what in COLUMNS for checkout in checkouts]
    print(f"| processor seconds | {' | '.join(names)} |")
    print(f"|---|{'---:|' * len(names)}")
    with tempfile.TemporaryDirectory(prefix="palimpsest-figures-") as name:
        folders = [Path(name) / str(place) for place in range(len(checkouts))]
        for command in COMMANDS:
            cells = [measured(*each, command) for each in zip(checkouts, folders, strict=True)]
            written = (
                f"{seconds:.2f}" for column in zip(*cells, strict=True) for seconds in column
            )
            print(f"| {command} | {' | '.join(written)} |", flush=True)


def measured(checkout: Path, folder: Path, command: str) -> tuple[float, float, float]:
    """Processor seconds of a command in each of COLUMNS, from precomputed results."""
    folder.mkdir(exist_ok=True)
    first = command_seconds(checkout, command, folder)
    warm = min(command_seconds(checkout, command, folder) for _ in range(ROUNDS))
    return first, warm, min(figures_seconds(checkout, command, folder) for _ in range(ROUNDS))


if __name__ == "__main__":
    main()
