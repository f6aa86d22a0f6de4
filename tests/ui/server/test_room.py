"""Few files: a server that may open 256 stays, lets in whom it has room for, and says so once."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.exceptions import InvalidStatus

from tests.browser.server import ENTRY, started, with_files
from tests.load.tab import Tab, run_alone
from tests.ui.server.log import warnings_in
from ui.server import refusals, room

resource = pytest.importorskip("resource")
FILES = 256  # as macOS gives
LEFT, AT_ONCE, IDLE = (
    70,
    70,
    400,
)  # tabs loaded and left; open together; connections that say nothing
MOST_LOG = 4_000  # bytes
PAGE = {"accept": "text/html"}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """An application behind the check of room, with patience for a test."""

    async def socket_of_a_tab(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.receive()

    routes = [
        Route("/", lambda _: PlainTextResponse("page")),
        WebSocketRoute("/socket", socket_of_a_tab),
    ]
    monkeypatch.setattr(room, "FILE_WAIT", 0.2)
    monkeypatch.setattr(room, "SETTLE", 0.2)
    refusals._last.begin()
    return TestClient(Starlette(routes=routes, middleware=[Middleware(room.Room)]))


def files_left(monkeypatch: pytest.MonkeyPatch, *counts: float) -> None:
    """The process has so many free files, look after look; the last count stays."""
    remaining = [*counts]
    monkeypatch.setattr(
        room, "free_files", lambda: remaining.pop(0) if len(remaining) > 1 else remaining[0]
    )


def test_a_tab_too_many_is_told_until_one_is_closed(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MOST_TABS", 1)
    assert client.get("/", headers=PAGE).status_code == 200
    with client.websocket_connect("/socket"):
        answer = client.get("/", headers=PAGE)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
        assert "no room for another tab" in answer.text
        assert client.get("/").text == "page"  # what the open tab asks for
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket"):
            pass
    assert client.get("/", headers=PAGE).status_code == 200


@pytest.mark.slow
def test_without_free_files_no_tab_is_let_in_and_the_log_says_so_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files_left(monkeypatch, room.FOR_STUDIES - 1)
    for _ in range(3):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/socket"):
            pass
        assert "files run short" in client.get("/", headers=PAGE).text
    assert client.get("/").text == "page"
    files_left(monkeypatch, room.FOR_ANSWERS - 1)
    assert client.get("/").status_code == 503
    (warning,) = warnings_in(caplog)
    assert "ulimit -n" in warning


def test_a_tab_waits_for_files_of_what_ends(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "SETTLE", 30.0)
    monkeypatch.setattr(room, "SETTLING", 0.01)
    none = [room.FOR_STUDIES - 1] * 3  # looked at three times: too few, still too few, and then
    files_left(monkeypatch, *none, *none, room.FOR_STUDIES)
    with client.websocket_connect("/socket"):
        pass
    files_left(monkeypatch, *none, *none, room.FOR_STUDIES)
    assert client.get("/", headers=PAGE).status_code == 200


@pytest.mark.slow
def test_a_request_waits_for_a_file(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    files_left(monkeypatch, 0, 0, room.FOR_ANSWERS)
    assert client.get("/").text == "page"


def test_sessions_that_were_left_first_are_closed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [SimpleNamespace(session=SimpleNamespace(id=name)) for name in "abcd"]
    closed: list[str] = []
    server = SimpleNamespace(
        _session_mgr=SimpleNamespace(list_sessions=lambda: sessions),
        is_active_session=lambda name: name == "a",
        close_session=closed.append,
    )
    monkeypatch.setattr(room.runtime, "exists", lambda: True)
    monkeypatch.setattr(room.runtime, "get_instance", lambda: server)
    room.close_sessions(2)
    assert closed == ["b", "c"]


@pytest.mark.parametrize(
    ("soft", "hard", "most", "raised"),
    [
        (256, 1_048_576, math.inf, 65_536),
        (256, 4_096, math.inf, 4_096),
        (256, -1, 10_240, 10_240),  # macOS says unlimited and means less
        (256, 256, math.inf, None),
        (100_000, 1_048_576, math.inf, None),
        (-1, -1, math.inf, None),
    ],
)
def test_the_limit_of_files_is_raised_within_bounds(
    soft: int, hard: int, most: float, raised: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def set_limit(kind: int, limits: tuple[int, int]) -> None:
        if limits[0] > most:
            raise ValueError("not allowed")
        assert limits[1] == hard
        asked.append(limits[0])

    monkeypatch.setattr(resource, "RLIM_INFINITY", -1)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", set_limit)
    room.raise_open_files()
    assert asked == ([] if raised is None else [raised])


def test_free_files_are_counted() -> None:
    before = room.free_files()
    with socket.socket():
        assert room.free_files() == before - 1


def test_a_process_that_cannot_even_look_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> Iterator[Path]:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "iterdir", fail)
    assert room.free_files() == 0


def test_a_lack_of_files_is_one_line_and_another_failure_is_told_in_full(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusals._last.begin()
    loop = asyncio.new_event_loop()
    for _ in range(3):
        lack = {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")}
        refusals.note_failure(loop, lack)
    assert len(warnings_in(caplog)) == 1
    refusals.note_failure(loop, {"message": "another", "exception": OSError(errno.EIO, "disk")})
    assert caplog.records[-1].levelno == logging.ERROR
    assert "another" in caplog.records[-1].message
    loop.close()


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_server_with_few_files_outlives_tabs_that_are_left_and_too_many(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with started(with_files(ENTRY, FILES), tmp_path, PALIMPSEST_MODE="shared") as (server, address):
        run_alone(_leave(address))
        run_alone(_crowd(address))
        run_alone(_leave(address, 1))
        _say_nothing(address)
        run_alone(_leave(address, 1))
        assert server.poll() is None
        assert log.stat().st_size < MOST_LOG, log.read_text(encoding="utf8")[:2_000]


async def _leave(address: str, times: int = LEFT) -> None:
    """Load a page as a browser does, and leave it, again and again."""
    for _ in range(times):
        await asyncio.to_thread(_page, address)
        async with Tab(address) as tab:
            await tab.open("teaching")
            await tab.until(lambda tab: tab.settled and tab.text())
            tab.vanish()


async def _crowd(address: str) -> None:
    """Open more tabs than there is room for: those that are in work, the others are told."""
    tabs: list[Tab] = []
    async with AsyncExitStack() as stack:
        with suppress(InvalidStatus):
            while len(tabs) < AT_ONCE:
                tabs.append(await stack.enter_async_context(Tab(address)))
                await tabs[-1].open("teaching")
        assert 30 < len(tabs) < AT_ONCE  # a class
        with pytest.raises(urllib.error.HTTPError, match="503"):
            await asyncio.to_thread(_page, address)
        for tab in (tabs[0], tabs[-1]):
            await tab.open("teaching")
            await tab.until(lambda tab: tab.settled and tab.text())
    await asyncio.sleep(2)  # the server notices that they are gone


def _page(address: str) -> None:
    request = urllib.request.Request(address, headers=PAGE)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.status == 200


def _say_nothing(address: str) -> None:
    """Take all files by connections that ask for nothing, for a few seconds."""
    where = urlsplit(address)
    lines: list[Any] = []
    try:
        for _ in range(IDLE):
            lines.append(socket.create_connection((where.hostname, where.port), timeout=10))
        time.sleep(3)
    finally:
        for line in lines:
            line.close()
