"""What the commands of all studies share: where to run, where to write, a line of progress, what is said at the end."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.results.export import Result
    from core.runs.runner import Outputs, Progress, Task

WIDTH = 30


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """`--scheduler` and `--out`."""
    parser.add_argument("--scheduler", default=None, metavar="ADDRESS", help="a Dask scheduler, tcp://host:port")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for results and figures")


def run_and_write(
    tasks: Sequence[Task],
    collect: Callable[[Outputs], Result],
    figures: Callable[[Result], Mapping[str, Any]],
    arguments: argparse.Namespace,
    extra: Callable[[Result], Mapping[str, bytes]] | None = None,
) -> int:
    """Run a study's tasks, write its files, print its headline; 1 if a task failed.

    Args:
        tasks: The study's plan.
        collect: From outputs to result.
        figures: Charts by file name, the main one first.
        arguments: With what `add_run_arguments` added.
        extra: Further files by name, such as predicted trees.

    Raises:
        PalimpsestError: As the study does; `core.commands.main` prints it.
    """
    from core.results.export import write_result
    from core.runs.runner import open_executor, run

    began = time.monotonic()
    with open_executor(arguments.scheduler) as executor:
        outputs = run(tasks, executor=executor, progress=show_progress)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    result = collect(outputs)
    files = write_result(result, figures(result), arguments.out, extra(result) if extra else None)
    return report(result, files, outputs.stored, len(outputs.values) + len(outputs.failures), began)


def report(result: Result, files: Sequence[Path], stored: int, total: int, began: float) -> int:
    """Say what was found, what was left out, how much was stored before, what was written; the exit status."""
    print(result.headline)
    for sentence in (*result.notices, *result.failures.values()):
        print(f"note: {sentence}", file=sys.stderr)
    print(f"{stored} of {total} tasks were stored; {time.monotonic() - began:.1f} s.", file=sys.stderr)
    print(f"Written: {', '.join(str(path) for path in files)}")
    return 1 if result.failures else 0


def show_progress(progress: Progress) -> None:
    """A line that rewrites itself, where there is a terminal."""
    if not sys.stderr.isatty():
        return
    filled = round(progress.fraction * WIDTH)
    left = f", {progress.remaining:.0f} s left" if progress.remaining else ""
    bar = "█" * filled + "·" * (WIDTH - filled)
    print(f"\r\033[K{bar} {progress.done}/{progress.total}{left}  {progress.note}"[:160], end="", file=sys.stderr)
