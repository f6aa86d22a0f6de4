"""Every study killed at random moments and started again: `python -m tests.load.kills [STUDY ...]`.

Each study runs once undisturbed, and once more on a store of its own, killed (SIGKILL) `--kills`
times at a moment drawn from the time that the first run computed. What the last run writes must be what
the undisturbed one wrote, and nothing that was kept before a kill may be computed after it: less
than one task is lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--sentences", "40")
ATTEMPTS = 4  # runs for each kill that is wanted: some end before their moment
MOMENTS = (0.1, 0.6)  # of an undisturbed run's work: a busy machine may be quicker the next time
LOOK = 0.01  # seconds between two looks whether a run computes
STUDIES: dict[str, tuple[str, ...]] = {
    "rsa": (*SMALL, "--words", "200"),
    "tokens": (),
    "swap": (
        *SMALL,
        "--compare",
        "zoo:pos-0",
        "zoo:parse-0",
        "--noises",
        "2",
        "--no-frozen",
        "--draws",
        "20",
    ),
    "divergence": (*SMALL, "--words", "200"),
    "lens": (*SMALL, "--models", "zoo:review-0", "zoo:review-1"),
    "bits": SMALL,
    "spaces": ("--models", "zoo:seed-?", "zoo:pos-0", "--words", "200", "--draws", "20"),
    "truth": SMALL,
    "audit": (),
    "training": (*SMALL, "--words", "200"),
    "probe": (
        "--sentences",
        "120",
        "--epochs",
        "2",
        "--seeds",
        "1",
        "--controls",
        "1",
        "--draws",
        "20",
    ),
    "probe edges": ("--sentences", "120", "--controls", "1", "--draws", "20"),
    "probe polar": (
        *("--sentences", "120", "--epochs", "2", "--seeds", "1", "--controls", "1"),
        *("--draws", "20"),
    ),
    "probe training": ("--sentences", "120", "--seeds", "1", "--draws", "20"),
    "probe removal": (
        *("--models", "zoo:seed-0", "--sentences", "120", "--layers", "2", "--epochs", "2"),
        *("--scored", "4", "--pairs", "10", "--randoms", "2", "--draws", "20"),
    ),
    "probe behaviour": (
        *("--models", "zoo:seed-0", "zoo:seed-1"),
        *("--pairs", "50", "--sentences", "120", "--draws", "20"),
    ),
    "weights": ("--permutations", "100"),
    "weights intruders": ("--draws", "20"),
    "weights scaling": ("--models", "zoo:parse-0", "--removals", "2"),
    "weights lineage": (),
    "weights arithmetic": ("--sentences", "20", "--randoms", "2", "--draws", "20"),
    "align": ("--sentences", "60", "--methods", "identity", "ridge", "kernel"),
    "align rotation": SMALL,
    "align check": ("--sentences", "60"),
    "align stitch": ("--sentences", "60"),
    "align barrier": ("--sentences", "20", "--models", "zoo:seed-0", "zoo:seed-1", "zoo:pos-0"),
    "align protocol": ("--sentences", "60", "--steps", "20"),
    "align attention": ("--sentences", "60"),
}


@dataclass
class Report:
    """What became of one study.

    Attributes:
        seconds: That the undisturbed run took.
        working: Of these, from its first value on: importing modules loses nothing.
        tasks: Values that it computed.
        killed: Runs that were killed before their end.
        started: Runs that were to be killed.
        again: Values that had been kept and were computed once more.
        differing: Files that the last run wrote otherwise.
        trouble: What a run that was not killed said when it failed.
    """

    seconds: float = 0.0
    working: float = 0.0
    tasks: int = 0
    killed: int = 0
    started: int = 0
    again: int = 0
    differing: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def sound(self) -> bool:
        """Whether nothing was lost and nothing is wrong."""
        return not (self.again or self.differing or self.trouble)


def child(log: Path, arguments: Sequence[str]) -> int:
    """Run a command, noting on `log` each value that is begun and each that is kept."""
    from core.__main__ import share_cores
    from core.commands.main import main
    from core.runs.store import Store

    share_cores()
    original = Store.get_or_compute

    def noted(self: Store, key: str, compute: Any, waiting: Any = None) -> Any:
        def begun() -> Any:
            note(log, "begun", key)
            return compute()

        value, there = original(self, key, begun, waiting)
        if not there:
            note(log, "kept", key)
        return value, there

    Store.get_or_compute = noted  # type: ignore[method-assign]
    return main(arguments)


def note(log: Path, what: str, key: str) -> None:
    """One line, whole even where the process ends the moment after."""
    with log.open("ab", buffering=0) as file:
        file.write(f"{what} {key}\n".encode())


def start(command: str, folder: Path) -> subprocess.Popen[str]:
    """The command line of a study, in a process group of its own."""
    arguments = [*command.split(), *STUDIES[command], "--yes", "--out", str(folder / "out")]
    environment = {
        **os.environ,
        "PALIMPSEST_STORE": str(folder / "store"),
        "PALIMPSEST_PRECOMPUTED": "none",
        "TOKENIZERS_PARALLELISM": "false",
    }
    line = [sys.executable, "-m", "tests.load.kills", "--child", str(folder / "log"), *arguments]
    return subprocess.Popen(
        line,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def finish(running: subprocess.Popen[str]) -> str:
    """Wait for the end; what it said, where it failed."""
    said = running.communicate()[1]
    return "" if running.returncode == 0 else said[-2000:] or f"ended with {running.returncode}"


def kill_and_compare(command: str, folder: Path, kills: int, draw: random.Random) -> Report:
    """One study: undisturbed, then killed and started again."""
    report, alone, shaken = Report(), folder / "alone", folder / "shaken"
    for place in (alone, shaken):
        place.mkdir(parents=True)
        (place / "log").touch()
    began = time.monotonic()
    running = start(command, alone)
    await_work(running, alone / "log", 0)
    first = time.monotonic()
    report.trouble = finish(running)
    report.seconds, report.working = time.monotonic() - began, time.monotonic() - first
    report.tasks = len(lines(alone / "log", "kept"))
    if report.trouble:
        return report
    while report.killed < kills and report.started < ATTEMPTS * kills:
        kept = set(lines(shaken / "log", "kept"))
        so_far = len(lines(shaken / "log", "begun"))
        running = start(command, shaken)
        report.started += 1
        await_work(running, shaken / "log", so_far)
        try:
            running.wait(draw.uniform(*MOMENTS) * report.working)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            report.killed += 1
        running.communicate()
        report.again += len(kept & set(lines(shaken / "log", "begun")[so_far:]))
        if (
            running.returncode == 0 and report.killed < kills
        ):  # all is kept: the next kills need work again
            shutil.rmtree(shaken)
            shaken.mkdir()
            (shaken / "log").touch()
    kept, so_far = set(lines(shaken / "log", "kept")), len(lines(shaken / "log", "begun"))
    report.trouble = finish(start(command, shaken))
    report.again += len(kept & set(lines(shaken / "log", "begun")[so_far:]))
    report.differing = tuple(differing_files(alone / "out", shaken / "out"))
    return report


def await_work(running: subprocess.Popen[str], log: Path, begun: int) -> None:
    """Wait until a run begins a value beyond those begun before, or ends."""
    while running.poll() is None and len(lines(log, "begun")) <= begun:
        time.sleep(LOOK)


def lines(log: Path, what: str) -> list[str]:
    """Keys noted under a word, in order."""
    noted = [line.split() for line in log.read_text().splitlines()]
    return [key for word, key in noted if word == what]


def differing_files(one: Path, other: Path) -> list[str]:
    """Names of tables that are not the same to the last byte, or are in one folder alone; the
    headline too."""
    names = {path.name for folder in (one, other) for path in folder.glob("*.csv")}
    differ = [name for name in sorted(names) if read(one / name) != read(other / name)]
    told = [
        json.loads(read(folder / "result.json") or b"{}").get("headline") for folder in (one, other)
    ]
    return differ if told[0] == told[1] else [*differ, "headline"]


def read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def main() -> int:
    """Try the studies; 1 where anything was lost or wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.kills", description=__doc__)
    parser.add_argument("studies", nargs="*", help=f"of {', '.join(STUDIES)}; all without")
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, sound = random.Random(given.seed), True
    print(
        "study              seconds  tasks  killed  computed again  files that differ", flush=True
    )
    for command in given.studies or STUDIES:
        with tempfile.TemporaryDirectory(prefix="palimpsest-kills-") as folder:
            report = kill_and_compare(command, Path(folder), given.kills, draw)
        sound &= report.sound
        wrong = ", ".join(report.differing) or "none"
        print(
            f"{command:18} {report.seconds:7.1f} {report.tasks:6} {report.killed:7} "
            f"{report.again:15}  {wrong}"
            f"{report.trouble and ': '}{report.trouble}",
            flush=True,
        )
    return 0 if sound else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        sys.exit(child(Path(sys.argv[2]), sys.argv[3:]))
    sys.exit(main())
