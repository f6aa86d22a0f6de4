"""Processor time of figures: of a command whose results are stored, and of a page's first figure.

`python -m benchmarks.figures [CHECKOUT ...]` measures this checkout, or several in turn, so that
other load slows all of them alike. Seconds are user and system time, the minimum of several rounds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = ("rsa", "weights", "probe", "align")
ROUNDS = 2
FIRST = """
import sys, time
from core.catalogue import STUDIES
study = STUDIES[sys.argv[1]]
result = study.run(study.Spec())
began = time.process_time()
next(iter(study.figures(result).values())).to_dict()
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
    names = [
        f"{what}, {checkout.name}"
        for what in ("whole command", "all figures")
        for checkout in checkouts
    ]
    print(f"| processor seconds | {' | '.join(names)} |")
    print(f"|---|{'---:|' * len(names)}")
    with tempfile.TemporaryDirectory(prefix="palimpsest-figures-") as name:
        folder = Path(name)
        for command in COMMANDS:
            cells: dict[tuple[int, int], float] = {}
            for _ in range(ROUNDS):
                for place, checkout in enumerate(checkouts):
                    for kind, measured in enumerate((command_seconds, figures_seconds)):
                        seconds = measured(checkout, command, folder)
                        cells[kind, place] = min(seconds, cells.get((kind, place), seconds))
            written = (
                f"{cells[kind, place]:.2f}" for kind in (0, 1) for place in range(len(checkouts))
            )
            print(f"| {command} | {' | '.join(written)} |", flush=True)


if __name__ == "__main__":
    main()
