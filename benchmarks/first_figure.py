"""Seconds from opening a page to its drawn figure, beside Streamlit's own floor.

`python -m benchmarks.first_figure [--rounds N]`: for each page a fresh server with an empty store
and a fresh browser profile, and beside it, in turn, a server of an app that is one Altair chart of
ten points and nothing else. Counted is the time from the request to the first drawn mark of a
Vega chart; a server is asked once its health answers, as by somebody who follows the printed link.
On the way: the page of Streamlit has come, its script has been read, a title stands (the page's
own script has begun to answer), the first frame of a chart does (it has ended, and Vega is there).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import ARGUMENTS, CHROMIUM, GUIDED
from tests.browser.server import ENTRY, ROOT, started

FLOOR = "one chart and nothing else"
ONE_CHART = """
import altair as alt
import pandas as pd
import streamlit as st

points = pd.DataFrame({"x": range(10), "y": range(10)})
st.altair_chart(alt.Chart(points).mark_point().encode(x="x", y="y"))
"""
PAGES = {
    "Home": "",
    "RSA": "rsa",
    "Probe trees": "probe_trees",
    "Weight clustering": "weight_clustering",
    "Seed alignment": "seed_alignment",
}
MARKS = ("page", "script", "title", "frame")
WATCH = """
window.marks = {};
const mark = (name, found) => {
    if (found && !(name in window.marks)) window.marks[name] = performance.now();
};
new MutationObserver(() => {
    mark('script', document.querySelector('#root > *'));
    mark('title', document.querySelector('[data-testid=stMain] h1'));
    mark('frame', document.querySelector('.vega-embed'));
}).observe(document, {childList: true, subtree: true});
"""
TOLD = """() => ({...window.marks,
    page: performance.getEntriesByType('navigation')[0].responseEnd})"""
DRAWN = """() => [...document.querySelectorAll('.vega-embed')].some(
    (chart) => chart.querySelector('canvas, svg .mark-symbol path, svg .mark-line path'))"""
MOST = 120_000  # milliseconds


def seconds_until_drawn(
    command: Sequence[str], cwd: Path, page: str
) -> tuple[float, dict[str, float]]:
    """Seconds from the request to the first mark, with a fresh server, store and browser, and to
    each of MARKS that there was.

    Args:
        command: What starts the server.
        cwd: Where it is started.
        page: Path of the page.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        started(command, Path(folder), cwd=cwd) as (_, address),
        sync_playwright() as playwright,
    ):
        context = playwright.chromium.launch_persistent_context(
            Path(folder) / "profile",
            executable_path=CHROMIUM,
            args=list(ARGUMENTS),
            viewport={"width": 1280, "height": 800},
        )
        context.add_init_script(GUIDED)
        context.add_init_script(WATCH)
        tab = context.new_page()
        began = time.monotonic()
        tab.goto(f"{address}/{page}")
        tab.wait_for_function(DRAWN, timeout=MOST, polling=20)
        taken = time.monotonic() - began
        told = tab.evaluate(TOLD)
        context.close()
    return taken, {name: told[name] / 1e3 for name in MARKS if name in told}


def main() -> None:
    """Print a table: a row a page, the floor first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    taken: dict[str, list[tuple[float, dict[str, float]]]] = {
        FLOOR: [],
        **{name: [] for name in PAGES},
    }
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {rounds} rounds\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "one_chart.py"
        empty.write_text(ONE_CHART, encoding="utf8")
        floor = (sys.executable, "-m", "streamlit", "run", str(empty), "--server.headless=true")
        for _ in range(rounds):
            taken[FLOOR].append(seconds_until_drawn(floor, empty.parent, ""))
            for name, page in PAGES.items():
                taken[name].append(seconds_until_drawn(ENTRY, ROOT, page))
    least = statistics.median(seconds for seconds, _ in taken[FLOOR])
    print(
        f"| first page of a fresh server | {' | '.join(MARKS)} | s (median) | range "
        "| above the floor |"
    )
    print(f"|---|{'---:|' * (len(MARKS) + 3)}")
    for name, runs in taken.items():
        all_seconds = [seconds for seconds, _ in runs]
        median = statistics.median(all_seconds)
        there = [[marks[mark] for _, marks in runs if mark in marks] for mark in MARKS]
        before = " | ".join(f"{statistics.median(each):.2f}" if each else "-" for each in there)
        print(
            f"| {name} | {before} | {median:.2f} | {min(all_seconds):.2f} to "
            f"{max(all_seconds):.2f} | {median - least:.2f} |"
        )


if __name__ == "__main__":
    main()
