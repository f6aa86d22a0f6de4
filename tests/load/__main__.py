"""`make load`: a class of thirty, then thirty visitors of all kinds; fails where it is not good
enough.

python -m tests.load --sessions 30 --minutes 60
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.load.scenario import Report, quantile, run_class
from tests.load.visitors import ANSWERED, ENTRIES, FILES, MAKE, visit

FIRST_FIGURE = 30.0  # seconds, 95 % of sessions, on two cores
SAME_VIEW = 1.5  # seconds, all sessions
PEAK = 1_000  # MB


def main() -> int:
    """Run the class and the visitors; 1 where something is not as promised."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.load", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="that the visitors stay; 0 for the class alone"
    )
    parser.add_argument("--no-class", action="store_true", help="the visitors alone")
    parser.add_argument("--entry", choices=ENTRIES, default=MAKE, help="that the visitors find")
    parser.add_argument(
        "--files", type=int, default=FILES, help="that the visitors' server may open"
    )
    given = parser.parse_args()
    promises: dict[str, bool] = {}
    if not given.no_class:
        with tempfile.TemporaryDirectory() as folder:
            lesson = run_class(Path(folder), given.sessions)
        print(lesson, flush=True)
        promises |= promises_of(lesson)
    if given.minutes:
        with tempfile.TemporaryDirectory() as folder:
            visits = visit(Path(folder), given.sessions, given.minutes, given.entry, given.files)
        print(visits)
        promises |= {
            "visitors meet no error": not visits.errors,
            f"answers in {ANSWERED:.0f} s": not visits.late,
        }
    broken = [name for name, kept in promises.items() if not kept]
    print(f"not kept: {', '.join(broken)}" if broken else "all promises kept")
    return 1 if broken else 0


def promises_of(report: Report) -> dict[str, bool]:
    """What a class is promised, and whether it was kept."""
    return {
        "no errors": not report.errors,
        "one run": report.computed == 1,
        "first figure": bool(report.first_figure)
        and quantile(report.first_figure, 0.95) < FIRST_FIGURE,
        "change of view": bool(report.same_view) and max(report.same_view) < SAME_VIEW,
        "peak memory": report.peak_megabytes < PEAK,
    }


if __name__ == "__main__":
    sys.exit(main())
