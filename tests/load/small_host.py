"""A walk through all pages on a server with half of a core and 1 GB, as on a free host.

python -m tests.load.small_host

The server starts as `streamlit run app.py` in shared mode with an empty store. A visitor opens every
page, and then lets the RSA page's own study be computed instead of read. The table is in
docs/deployment.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from websockets.exceptions import WebSocketException

from tests.browser.server import ENTRY, started
from tests.load.tab import Tab, TabError, run_alone

PAGES = {
    "Home": "",
    "RSA": "rsa",
    "Probe trees": "probe_trees",
    "Weight clustering": "weight_clustering",
    "Seed alignment": "seed_alignment",
    "Teaching": "teaching",
}
FIGURES = ("RSA", "Probe trees", "Weight clustering", "Seed alignment")
FIRST = "RSA"  # opened right after the start: its chart is the first figure
AGAIN = "Recompute here"
STUDY = "Default RSA study, recomputed"
PATIENCE = 300.0  # seconds for one page
PEAK = re.compile(r"most memory held (\d+) MB")


@dataclass
class Walk:
    """What was measured.

    Attributes:
        seconds: What was waited for -> seconds, in order.
        megabytes: Most that the server and its children held.
        errors: What no visitor should see.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    megabytes: int = 0
    errors: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [f"| {name} | {seconds:.1f} |" for name, seconds in self.seconds.items()]
        held = f"Most memory held: {self.megabytes:,} MB."
        return "\n".join(["| what | seconds |", "|---|---|", *rows, "", held, *self.errors])


def walk(folder: Path, cores: float, megabytes: float) -> Walk:
    """Start a server within its limits and walk through its pages.

    Args:
        folder: Empty; store and log go there.
        cores: Share of one core.
        megabytes: Above which the server is killed.
    """
    report, began = Walk(), time.monotonic()
    limits = ["-m", "tests.load.limited", "--cores", str(cores), "--megabytes", str(megabytes)]
    command = [sys.executable, *limits, "--", *ENTRY]
    with started(command, folder, PALIMPSEST_MODE="shared") as (_, address):
        report.seconds["Start to the first answer"] = time.monotonic() - began
        run_alone(_visit(address, report, began))
    log = (folder / "log.txt").read_text(encoding="utf8", errors="replace")
    peak = PEAK.search(log)
    report.megabytes = int(peak[1]) if peak else 0
    report.errors += [line for line in log.splitlines() if "Traceback" in line]
    return report


async def _visit(address: str, report: Walk, began: float) -> None:
    """Open the first page, then all pages in order, then have the study computed."""
    try:
        async with Tab(address) as tab:
            await _open(tab, FIRST)
            report.seconds["Start to the first figure"] = time.monotonic() - began
            for name in PAGES:
                clock = time.monotonic()
                await _open(tab, name)
                report.seconds[f"{name} opened"] = time.monotonic() - clock
            await _open(tab, FIRST)
            clock = time.monotonic()
            await tab.press(AGAIN)
            await tab.until(lambda tab: tab.settled and "Computed in" in _captions(tab), PATIENCE)
            report.seconds[STUDY] = time.monotonic() - clock
            report.errors += tab.errors()
    except (TabError, OSError, WebSocketException) as error:
        report.errors.append(f"{type(error).__name__}: {str(error)[:500]}")


async def _open(tab: Tab, name: str) -> None:
    """Open a page and wait until it is drawn, with a figure where it has one."""
    await tab.open(PAGES[name])
    await tab.until(
        lambda tab: tab.settled and (tab.charts() if name in FIGURES else tab.text()), PATIENCE
    )


def _captions(tab: Tab) -> str:
    return "\n".join(part.body for part in tab.of_type("markdown"))


def main() -> int:
    """Print the table; 1 where something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.load.small_host")
    parser.add_argument("--cores", type=float, default=0.5)
    parser.add_argument("--megabytes", type=float, default=1000.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = walk(Path(folder), given.cores, given.megabytes)
    print(report)
    return 1 if report.errors or STUDY not in report.seconds else 0


if __name__ == "__main__":
    sys.exit(main())
