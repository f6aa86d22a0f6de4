"""How many tabs there is room for, by their number and by the files that a process may open.

A tab takes a socket and, for as long as its session is kept, three files of Streamlit's. A process
without a free file answers nobody and cannot even say so: some are kept for studies and answers.
Where a new tab finds too few, the sessions that were left first are closed, before their time
(`server.disconnectedSessionTTL`), and the tab waits for their files and those of studies that end;
where none come free in time, it is told that the instance is full.
"""

from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from streamlit import runtime

from ui.server.refusals import refuse, warn_rarely

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

MOST_TABS = 250  # open at once
MOST_FILES = 2**16  # that a process asks for
LEAST_FILES = (MOST_FILES, 10_240, 4_096, 1_024)  # some systems allow less than they say
FOR_STUDIES = 64  # free files without which no further tab is let in
FOR_ANSWERS = 16  # free files without which no file is sent
PER_SESSION = 3  # files that Streamlit holds for each session
FILE_WAIT, LOOKS = 10.0, 0.1  # seconds that a request waits for a free file; between two looks
# the same of a tab, which a browser opens in less than ten; each look closes sessions
SETTLE, SETTLING = 5.0, 0.5
FULL = (
    "Palimpsest has no room for another tab{why}. {tabs} are open: close one, or try again in a "
    "minute."
)


def raise_open_files() -> None:
    """Raise this process's limit of open files towards the most that it may have itself."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    kind = resource.RLIMIT_NOFILE
    soft, hard = resource.getrlimit(kind)
    unlimited = resource.RLIM_INFINITY
    for wanted in LEAST_FILES:
        files = wanted if hard == unlimited else min(wanted, hard)
        if soft == unlimited or files <= soft:
            return
        try:
            resource.setrlimit(kind, (files, hard))
        except (ValueError, OSError):  # more than macOS allows, whatever the hard limit says
            continue
        return


def free_files() -> float:
    """Count the files that this process may still open; infinite where there is no limit."""
    try:
        import resource
    except ImportError:
        return math.inf
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return math.inf
    try:
        return max(soft - sum(1 for _ in Path("/dev/fd").iterdir()), 0)
    except OSError:  # not even this one
        return 0


class Room:
    """Let in as many tabs as there is room for, and no request for which there is no file."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self.app = app
        self.tabs = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with 503, or let the application answer."""
        if scope["type"] == "websocket":
            if not await self._has_room():
                await self._refuse(scope, receive, send)
                return
            self.tabs += 1
            try:
                await self.app(scope, receive, send)
            finally:
                self.tabs -= 1
        elif scope["type"] == "http" and (
            (_asks_for_page(scope) and not await self._has_room()) or not await _file_is_free()
        ):
            await self._refuse(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _has_room(self) -> bool:
        """Wait for a moment until there is room for a further tab; return whether there is."""
        return await _comes_true(
            lambda: not self._is_full(), SETTLE, SETTLING, lambda: self.tabs >= MOST_TABS
        )

    def _is_full(self) -> bool:
        """Whether there is no room for a further tab, after closing sessions that were left."""
        if self.tabs >= MOST_TABS:
            return True
        missing = FOR_STUDIES - free_files()
        if missing > 0:
            close_sessions(math.ceil(missing / PER_SESSION))
            if free_files() < FOR_STUDIES:
                gc.collect()  # sessions whose time was over hold their files until then
        return free_files() < FOR_STUDIES

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        short = self.tabs < MOST_TABS
        why = ", because its files run short" if short else ""
        sentence = FULL.format(why=why, tabs=self.tabs)
        advice = " Raise the limit before the start: ulimit -n 4096." if short else ""
        warn_rarely("full", f"A visitor was turned away. {sentence}{advice}")
        await refuse(scope, receive, send, 503, sentence, **{"Retry-After": "60"})


def close_sessions(count: int) -> None:
    """Close sessions whose tab is gone, those that were left first."""
    if not runtime.exists():
        return
    server = runtime.get_instance()
    sessions = [kept.session.id for kept in server._session_mgr.list_sessions()]
    left = [session for session in sessions if not server.is_active_session(session)]
    for session in left[:count]:
        server.close_session(session)


def _asks_for_page(scope: Scope) -> bool:
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


async def _file_is_free() -> bool:
    """Wait for a moment until there is a free file; return whether there is one."""
    return await _comes_true(lambda: free_files() >= FOR_ANSWERS, FILE_WAIT, LOOKS)


async def _comes_true(
    wanted: Callable[[], bool],
    seconds: float,
    pause: float,
    hopeless: Callable[[], bool] = lambda: False,
) -> bool:
    """Look again and again, for at most this many seconds and only while it may help."""
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    while not wanted():
        if hopeless() or clock() > until:
            return False
        await asyncio.sleep(pause)
    return True
