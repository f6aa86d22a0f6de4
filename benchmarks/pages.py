"""Processor time of a page's runs: the first in a process, another session's, a rerun.

`python -m benchmarks.pages [PAGE ...]` under Streamlit's AppTest, without a browser. The results
are those of the store and the precomputed ones. A chart is built once in a process for each result
and what is chosen; the other runs read its specification.
"""

from __future__ import annotations

import cProfile
import os
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from streamlit import config
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.testing.v1 import AppTest, app_test

from ui.study import figures

ROOT = Path(__file__).parent.parent
PAGES = ("rsa", "probe_trees", "weight_clustering", "seed_alignment")
SECONDS = 600  # at most for a run
RERUNS = 7


def as_on_a_server() -> None:
    """Run every script through app.py, which AppTest does not do by itself."""
    PagesManager.uses_pages_directory = False
    setattr(app_test, "PagesManager", type("Remembering", (PagesManager,), {}))  # noqa: B010
    config.set_option("server.address", "localhost")


def opened(page: str) -> AppTest:
    """Open a page in a session of its own, and wait for its study."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=SECONDS)
    app.switch_page(f"pages/{page}.py")
    app.run()
    while any(button.label == "Cancel" for button in app.button):
        time.sleep(0.2)
        app.run()
    return app


def seconds_of(work: Any) -> tuple[float, Any]:
    """Processor seconds of a call, and what it returns."""
    began = time.process_time()
    returned = work()
    return time.process_time() - began, returned


def share_of_this_project(app: AppTest) -> float:
    """The share of a rerun's time spent in this project's own functions, not those they call."""
    profile, run_script = cProfile.Profile(time.thread_time), ScriptRunner._run_script

    def profiled(self: ScriptRunner, *arguments: Any, **named: Any) -> None:
        profile.enable()
        try:
            run_script(self, *arguments, **named)
        finally:
            profile.disable()

    with patch.object(ScriptRunner, "_run_script", profiled):
        app.run()
    times = [
        (str(getattr(entry.code, "co_filename", "")), entry.inlinetime)
        for entry in profile.getstats()
    ]
    ours = (str(ROOT / "core"), str(ROOT / "ui"), str(ROOT / "pages"), str(ROOT / "app.py"))
    return sum(spent for file, spent in times if file.startswith(ours)) / sum(
        spent for _, spent in times
    )


def main() -> None:
    """Print a table: a row a page."""
    as_on_a_server()
    built: list[object] = []
    themed = figures.themed

    def noted(spec: Mapping[str, Any], theme: str, colours: Mapping[str, str]) -> dict[str, Any]:
        built.append(spec)
        return themed(spec, theme, colours)

    figures.themed = noted
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print("| page | first run | another session | rerun | of it this project's | charts built |")
    print("|---|---:|---:|---:|---:|---:|")
    for page in sys.argv[1:] or PAGES:
        first, _ = seconds_of(lambda page=page: opened(page))
        charts = [len(built)]
        second, app = seconds_of(lambda page=page: opened(page))
        charts.append(len(built) - sum(charts))
        reruns = [seconds_of(app.run)[0] for _ in range(RERUNS)]
        charts.append(len(built) - sum(charts))
        share = share_of_this_project(app)
        print(
            f"| {page} | {first:.2f} | {second:.2f} | {statistics.median(reruns):.3f} "
            f"| {100 * share:.0f} % | {', '.join(map(str, charts))} |",
            flush=True,
        )
        built.clear()


if __name__ == "__main__":
    main()
