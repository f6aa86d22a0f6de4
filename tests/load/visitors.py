"""Visitors of all kinds on one small shared server, for some minutes: readers, askers, guests who
mean harm.

Each of thirty visitors does one act after another, drawn at random: opens a page or a view, asks
for a small study, downloads, leaves in the middle, follows a bad link, asks for more than the
instance allows, uploads too much, or names a model whose tokenizer would end the process that reads
it. The server and its children may hold 1.5 GB: beyond that it is killed, as a small host does.
(RLIMIT_DATA also counts addresses that are reserved and never touched: 1.4 GB where 0.2 GB are
held.) An act is answered when the page's script has run to its end, with a figure, its progress or
a sentence.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from websockets.exceptions import WebSocketException

from core.limits import SHARED
from tests.browser.server import ENTRY, started, with_files
from tests.core.hostile import grown
from tests.core.hub_server import HubServer
from tests.core.tiny_models import save_tiny
from tests.image import image_entry
from tests.load.scenario import STUDY, quantile
from tests.load.tab import Tab, TabError, run_alone

MEMORY = 1_500_000_000  # bytes
ANSWERED = 10.0  # seconds
PATIENCE = 120.0  # seconds for an answer, so that a late one is counted and not lost
LOOKS = 0.3  # seconds between two looks at the server's memory
PAUSE = (0.5, 3.0)  # seconds between a visitor's acts
ARRIVAL = 30.0  # seconds over which they come; all at once: tests/load/scenario.py
ENTRIES = MAKE, IMAGE = "make app", "image"
FILES = 256  # that the server may open, as on macOS
EVIL = "hub:org/evil"
REFUSED = 413  # status of an upload that is too large
SAVE = "Save"  # the button of a file that was made
PAGES = ("", "rsa", "probe_trees", "weight_clustering", "seed_alignment", "teaching")
VIEWS = {
    "rsa": (
        *("Layer against layer", "By layer", "Token map"),
        *("Benchmark with known answers", "Layer swap", "Similarity through training"),
    ),
    "weight_clustering": ("Rank by depth", "Neighbours"),
    "seed_alignment": ("Layer into layer", "The space"),
}
BAD_LINKS: tuple[Mapping[str, object], ...] = (
    {"layer": 99},
    {"measure": "nope"},
    {"words": -3},
    {"base": "zoo:nobody"},
    {"base": "path:/etc"},
    {"compare": "x" * 5_000},
    {"seed": "9" * 40},
)
HUGE: tuple[Mapping[str, object], ...] = (
    {"measure": "cka", "words": 20_000, "sentences": 1_000},
    {"kernel": "euclidean", "words": 20_000, "sentences": 1_000},
)
Act = Callable[["Visitor"], Awaitable[None]]


@dataclass
class Visit:
    """What was counted and measured over the whole time.

    Attributes:
        seconds: Of each act until its answer, by the act's name.
        errors: What no visitor should see.
        megabytes: The server's peak.
        load: Average load of the machine at the end.
        began: When the clock of the process stood where the visits began.
        lateness: Each act that was not answered in time.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    megabytes: int = 0
    load: float = 0.0
    began: float = field(default_factory=time.monotonic)
    lateness: list[str] = field(default_factory=list)

    @property
    def late(self) -> int:
        """Acts that were not answered in time."""
        return sum(took > ANSWERED for times in self.seconds.values() for took in times)

    def __str__(self) -> str:
        lines = ["act                    times  p50 s  p95 s  most s  late"]
        for name, times in sorted(self.seconds.items()):
            late = sum(took > ANSWERED for took in times)
            numbers = (
                f"{quantile(times, 0.5):6.2f} {quantile(times, 0.95):6.2f} {max(times):7.2f} "
                f"{late:5}"
            )
            lines.append(f"{name:22} {len(times):5} {numbers}")
        lines.append(
            f"peak memory of the server {self.megabytes:,} MB; load of the machine {self.load:.1f}"
        )
        counted = Counter(self.errors).most_common(20)
        return "\n".join(
            [
                *lines,
                *self.lateness[:40],
                f"errors: {len(self.errors)}",
                *(f"{times} x {what}" for what, times in counted),
            ]
        )


@dataclass
class Visitor:
    """One of the visitors: a tab, and a source of chance."""

    address: str
    tab: Tab
    draw: random.Random
    asked: str = ""  # what was opened last

    async def ask(self, page: str, **link: object) -> None:
        """Open a link, and wait for the page's answer."""
        self.asked = f"{page or 'home'} {link.get('view', '')}".strip()
        await self.tab.open(page, **link)
        await self.tab.until(lambda tab: tab.settled and (tab.charts() or tab.text()), PATIENCE)


async def look(visitor: Visitor) -> None:
    """Open a page."""
    await visitor.ask(visitor.draw.choice(PAGES))


async def view(visitor: Visitor) -> None:
    """Open a view, at times as a presentation."""
    page = visitor.draw.choice(list(VIEWS))
    present = {"present": 1} if visitor.draw.random() < 0.2 else {}
    await visitor.ask(page, view=visitor.draw.choice(VIEWS[page]), **present)


async def study(visitor: Visitor) -> None:
    """Ask for a small study that few others ask for."""
    await visitor.ask("rsa", **STUDY, seed=visitor.draw.randrange(12))


async def abandon(visitor: Visitor) -> None:
    """Ask in another tab, and close it at once."""
    async with Tab(visitor.address) as tab:
        await tab.open("probe_trees", models=f"zoo:seed-{visitor.draw.randrange(5)}", epochs=100)
        await asyncio.sleep(visitor.draw.uniform(0.0, 2.0))
        tab.vanish()


async def download(visitor: Visitor) -> None:
    """Open what came with the box, and fetch a file of it."""
    await visitor.tab.open("rsa")
    await visitor.tab.until(lambda tab: tab.settled and tab.charts(), PATIENCE)
    if not await visitor.tab.download(visitor.draw.choice(("CSV", "SVG", "PNG"))):
        raise TabError("an empty file")


async def report(visitor: Visitor) -> None:
    """Have the report of what came with the box made, and fetch it."""
    await visitor.tab.open("rsa")
    await visitor.tab.until(lambda tab: tab.settled and tab.charts(), PATIENCE)
    await visitor.tab.press("Report")
    await visitor.tab.until(lambda tab: tab.settled and tab.offers(SAVE), PATIENCE)
    if b"</html>" not in await visitor.tab.download(SAVE):
        raise TabError("a report that is cut short")


async def bad_link(visitor: Visitor) -> None:
    """Follow a link with a value that cannot be."""
    await visitor.ask("rsa", **visitor.draw.choice(BAD_LINKS))


async def huge(visitor: Visitor) -> None:
    """Ask for what the instance refuses."""
    await visitor.ask("rsa", **visitor.draw.choice(HUGE))
    # a page that still looks for a stored result says so first
    await visitor.tab.until(
        lambda tab: any("this instance allows" in said for said in (*tab.errors(), tab.text())),
        PATIENCE,
    )


async def upload(visitor: Visitor) -> None:
    """Send a file that is larger than the mode allows, past the widget."""
    status = await asyncio.to_thread(
        put, visitor.address, visitor.tab.session, SHARED.max_upload_bytes + 2**19
    )
    if status != REFUSED:
        raise TabError(f"an upload that is too large was answered with {status}")


async def hostile(visitor: Visitor) -> None:
    """Name a model whose tokenizer grows without bound."""
    await visitor.ask("rsa", base=EVIL, compare="zoo:seed-1", sentences=20, references="false")


ACTS: dict[str, tuple[Act, float]] = {
    "a page": (look, 5),
    "a view": (view, 4),
    "a small study": (study, 3),
    "a tab abandoned": (abandon, 1),
    "a download": (download, 3),
    "a report": (report, 1),
    "a bad link": (bad_link, 2),
    "a huge study refused": (huge, 2),
    "an upload refused": (upload, 1),
    "a hostile tokenizer": (hostile, 1),
}


def put(address: str, session: str, size: int) -> int:
    """Status of an upload by who asks no widget."""
    with urllib.request.urlopen(f"{address}/_stcore/health", timeout=PATIENCE) as answer:
        cookie = (answer.headers.get("Set-Cookie") or "").partition(";")[0]
    edge = uuid.uuid4().hex
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'.encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}", "Cookie": cookie}
    headers["X-Xsrftoken"] = cookie.partition("=")[2].strip('"')
    body = head + bytes(size) + f"\r\n--{edge}--\r\n".encode()
    path = f"{address}/_stcore/upload_file/{session}/{uuid.uuid4()}"
    try:
        with urllib.request.urlopen(
            urllib.request.Request(path, body, headers, method="PUT"), timeout=PATIENCE
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError as error:
        if isinstance(error.reason, BrokenPipeError | ConnectionResetError):
            return REFUSED  # the server closed before the end of what it will not take
        raise


def visit(
    folder: Path, visitors: int, minutes: float, entry: str = MAKE, files: int = FILES
) -> Visit:
    """Let visitors come for some minutes to a shared server that may allocate 1.5 GB.

    Args:
        folder: Empty.
        visitors: How many at once.
        minutes: How long.
        entry: `make app` or the image's command, one of `ENTRIES`.
        files: That the server may open.
    """
    report = Visit()
    command, variables = image_entry() if entry == IMAGE else (list(ENTRY), {})
    variables |= {"PALIMPSEST_MODE": "shared"}
    with HubServer() as hub:
        hub.add("org/evil", _hostile_model(folder / "evil"))
        home = {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(folder / "cache")}
        limited = with_files(command, files)
        with started(limited, folder, **variables, **home) as (server, address):
            watching = threading.Thread(target=_watch, args=(server, report), daemon=True)
            watching.start()
            run_alone(_all(address, report, visitors, time.monotonic() + 60 * minutes))
            died = server.poll() is not None
        watching.join()
    log = (folder / "log.txt").read_text(encoding="utf8", errors="replace")
    report.errors += [f"in the log: {' | '.join(lines)}" for lines in tracebacks(log)]
    if died:
        report.errors.insert(0, f"the server ended; its last words: {log[-1_500:]}")
    report.load = _load()
    return report


def tracebacks(log: str) -> Iterator[list[str]]:
    """Yield the last lines of each traceback of a log, its error among them."""
    lines: list[str] = []
    for line in log.splitlines():
        if "Traceback" in line:
            lines = [line]
        elif lines and line.startswith(" "):
            lines = [*lines[-6:], line.strip()]
        elif lines:
            yield [*lines, line[:300]]
            lines = []
    if lines:
        yield lines


async def _all(address: str, report: Visit, visitors: int, until: float) -> None:
    await asyncio.gather(
        *(_one(address, report, random.Random(number), until) for number in range(visitors))
    )


async def _one(address: str, report: Visit, draw: random.Random, until: float) -> None:
    names, weights = list(ACTS), [weight for _, weight in ACTS.values()]
    await asyncio.sleep(draw.uniform(0.0, ARRIVAL))
    while time.monotonic() < until:
        try:
            async with Tab(address) as tab:
                visitor = Visitor(address, tab, draw)
                await visitor.ask(draw.choice(PAGES))
                for name in draw.choices(names, weights, k=8):
                    if time.monotonic() > until:
                        return
                    await _timed(name, visitor, report)
                    await asyncio.sleep(draw.uniform(*PAUSE))
        except (TabError, OSError, WebSocketException) as error:
            report.errors.append(f"a visitor: {str(error)[:300]}")
            await asyncio.sleep(1)


async def _timed(name: str, visitor: Visitor, report: Visit) -> None:
    began = time.monotonic()
    try:
        await ACTS[name][0](visitor)
    except (TabError, TimeoutError, WebSocketException) as error:
        report.errors.append(f"{name}: {str(error)[:300]}")
    took = time.monotonic() - began
    report.seconds.setdefault(name, []).append(took)
    if took > ANSWERED:
        report.lateness.append(
            f"{name} ({visitor.asked}) asked {began - report.began:.0f} s after the start: "
            f"{took:.1f} s"
        )
    report.errors += [
        f"{name}: {shown.type}: {shown.message}"[:300] for shown in visitor.tab.of_type("exception")
    ]


def _watch(server: subprocess.Popen[bytes], report: Visit) -> None:
    """Measure what the server and its children hold, and end them where it is too much, until the
    server ends."""
    while server.poll() is None:
        held = _held(server.pid)
        report.megabytes = max(report.megabytes, round(held / 1e6))
        if held > MEMORY:
            server.kill()
        time.sleep(LOOKS)


def _held(session: int) -> int:
    """Bytes that all processes of a session hold."""
    pages = 0
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            pages += int(fields[21]) if int(fields[3]) == session else 0  # resident pages; session
    return pages * os.sysconf("SC_PAGE_SIZE")


def _hostile_model(folder: Path) -> Path:
    save_tiny(folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": grown(4)}))
    return folder


def _load() -> float:
    with suppress(OSError):
        return float(Path("/proc/loadavg").read_text().split()[0])
    return 0.0
