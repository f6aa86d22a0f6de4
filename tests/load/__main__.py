"""`make load`: thirty sessions by default; prints what they met and fails where it is not good enough."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.load.scenario import quantile, run_class

FIRST_FIGURE = 30.0  # seconds, 95 % of sessions, on two cores
SAME_VIEW = 1.5  # seconds, all sessions
PEAK = 1_000  # MB


def main() -> int:
    """Run the class; 1 where something is not as promised."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--sessions", type=int, default=30)
    with tempfile.TemporaryDirectory() as folder:
        report = run_class(sys.executable, Path(folder), parser.parse_args().sessions)
    print(report)
    promises = {
        "no errors": not report.errors,
        "one run": report.computed == 1,
        "first figure": bool(report.first_figure) and quantile(report.first_figure, 0.95) < FIRST_FIGURE,
        "change of view": bool(report.same_view) and max(report.same_view) < SAME_VIEW,
        "peak memory": report.peak_megabytes < PEAK,
    }
    broken = [name for name, kept in promises.items() if not kept]
    print(f"not kept: {', '.join(broken)}" if broken else "all promises kept")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
