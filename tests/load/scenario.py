"""A class on one server: many sessions that do what readers do at once, and what it cost them and
the server.

One study is asked by everybody and computed once; ten different ones are asked meanwhile, some by
readers who go to another page or close the lid before they end; everybody downloads; everybody
changes the view at the same moment; one fits maps between seeds, networks included. Then the server
starts anew on the same store, and everybody opens a link.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from tests.browser.server import ENTRY, started
from tests.load.tab import Tab, TabError, run_alone

STUDY = {
    "sentences": 40,
    "words": 100,
    "references": "false",
    "compare": "zoo:parse-0",
}
TRAINED = {
    "methods": ["ridge", "kernel", "inn", "mlp"],
    "layers": [2, 6],
}  # maps, the trained ones among them
DIFFERENT = 10
DOWNLOADS = ("CSV", "SVG", "PNG")
VIEWS = ("Layer against layer", "By layer")
OTHER_PAGE = ""  # the home page, which has a study of its own
Answer = TypeVar("Answer")
LINE = re.compile(r"palimpsest (\{.*\})$", re.MULTILINE)


@dataclass
class Report:
    """What was counted and measured; times in seconds, one per session."""

    sessions: int
    errors: list[str] = field(default_factory=list)
    computed: int = 0  # runs of the one study that everybody asked for
    downloads: int = 0
    same_view: list[float] = field(default_factory=list)
    first_figure: list[float] = field(default_factory=list)
    peak_megabytes: int = 0

    def __str__(self) -> str:
        lines = [
            f"sessions                                 {self.sessions}",
            f"errors                                   {len(self.errors)}",
            f"runs of the study that all asked for     {self.computed}",
            f"files downloaded                         {self.downloads}",
            f"all change their view at once, s         {_spread(self.same_view)}",
            f"first figure, new server, warm store, s  {_spread(self.first_figure)}",
            f"peak memory of the server, MB            {self.peak_megabytes}",
        ]
        return "\n".join([*lines, *self.errors])


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that this share of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _spread(seconds: Sequence[float]) -> str:
    if not seconds:
        return "not measured"
    return (
        f"p50 {quantile(seconds, 0.5):.2f}, p95 {quantile(seconds, 0.95):.2f}, most "
        f"{max(seconds):.2f}"
    )


def run_class(folder: Path, sessions: int, trained: Mapping[str, object] = TRAINED) -> Report:
    """The whole lesson on a server in shared mode that keeps its store and log in `folder`.

    Args:
        folder: Empty.
        sessions: How many at once; four or more.
        trained: Options of the maps between seeds.
    """
    report, logs = Report(sessions), []
    for lesson in (partial(_first_lesson, trained), _second_lesson):
        with started(ENTRY, folder, PALIMPSEST_MODE="shared") as (server, address):
            run_alone(_held(lesson(address, report), report))
            report.peak_megabytes = max(report.peak_megabytes, _peak_megabytes(server.pid))
        logs.append((folder / "log.txt").read_text(encoding="utf8", errors="replace"))
    report.errors += [
        f"in the log: {line}" for log in logs for line in log.splitlines() if "Error" in line
    ]
    asked = {name: STUDY[name] for name in ("sentences", "words")}
    for record in (json.loads(line) for line in LINE.findall(logs[0])):
        same = (
            asked.items() <= record["spec"].items() and not {"seed", "grid"} & record["spec"].keys()
        )
        report.computed += same and record["outcome"] == "done" and not record["found"]
    return report


async def _held(lesson: Awaitable[None], report: Report) -> None:
    try:
        await lesson
    except TabError as error:
        report.errors.append(str(error))


async def _first_lesson(trained: Mapping[str, object], address: str, report: Report) -> None:
    async with AsyncExitStack() as stack:
        tabs = [await stack.enter_async_context(Tab(address)) for _ in range(report.sessions)]
        await _all(tabs, lambda tab, _: tab.open("rsa", **STUDY))
        await _all(tabs, lambda tab, _: tab.until(_figure))
        await _all(tabs, _ask_another)
        staying = [tab for number, tab in enumerate(tabs) if number % 5 != 4]
        for tab in tabs[4::5]:
            tab.vanish()  # while their studies run or wait
        await _all(staying[::3], lambda tab, _: tab.open(OTHER_PAGE))
        await _all(staying[::3], lambda tab, _: tab.until(_figure))
        await _all(staying, lambda tab, _: tab.open("rsa", **STUDY))
        await _all(staying, lambda tab, _: tab.until(_figure))
        for files in await _all(staying, _download):
            report.downloads += len(files)
        for (
            view
        ) in VIEWS:  # the second is the one that is measured: the first may have to be computed
            await _all(staying[:1], lambda tab, _, view=view: _change(tab, view))
            report.same_view = await _all(staying, lambda tab, _, view=view: _change(tab, view))
        # last: what it takes comes on top of everything before
        await staying[0].open("seed_alignment", **trained)
        await staying[0].until(_figure)
        report.errors += [error for tab in staying for error in tab.errors()]


async def _second_lesson(address: str, report: Report) -> None:
    async with AsyncExitStack() as stack:
        tabs = [await stack.enter_async_context(Tab(address)) for _ in range(report.sessions)]
        report.first_figure = await _all(tabs, _first_figure)
        report.errors += [error for tab in tabs for error in tab.errors()]


async def _all(tabs: Sequence[Tab], act: Callable[[Tab, int], Awaitable[Answer]]) -> list[Answer]:
    return list(await asyncio.gather(*(act(tab, number) for number, tab in enumerate(tabs))))


def _figure(tab: Tab) -> bool:
    return tab.settled and bool(tab.charts())


async def _ask_another(tab: Tab, number: int) -> None:
    await tab.open("rsa", **STUDY, seed=1 + number % DIFFERENT)


async def _download(tab: Tab, _: int) -> list[bytes]:
    return [await tab.download(label) for label in DOWNLOADS]


async def _change(tab: Tab, view: str) -> float:
    began = time.monotonic()
    await tab.choose("View", view)
    await tab.until(_figure)
    return time.monotonic() - began


async def _first_figure(tab: Tab, number: int) -> float:
    began = time.monotonic()
    await tab.open("rsa", **STUDY, **({"seed": number % DIFFERENT} if number % 2 else {}))
    await tab.until(_figure)
    return time.monotonic() - began


def _peak_megabytes(process: int) -> int:
    """Most memory that the process has had, from /proc; 0 where there is none."""
    status = Path(f"/proc/{process}/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.is_file() else None
    return round(int(found[1]) * 1024 / 10**6) if found else 0
