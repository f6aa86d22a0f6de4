"""A socket says to the server what a page says, and nothing else."""

from __future__ import annotations

import logging
import tomllib
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackMsg

from core.limits import MEGABYTE
from core.runs.process import remembered as memory
from tests import ROOT
from tests.load.tab import run_alone
from tests.ui.server.log import warnings_in
from ui.frame import errors
from ui.server import messages, refusals, start
from ui.server.messages import (
    AT_ONCE,
    KINDS,
    MOST_BYTES,
    SECONDS,
    STREAM,
    OnlyItsMessages,
    kind_of,
)
from ui.server.start import server
from ui.study import jobs

OF_NO_PAGE = {"clear_cache", "set_run_on_save", "load_git_info"} | {
    "debug_disconnect_websocket",
    "debug_shutdown_runtime",
}


def said(**content: object) -> bytes:
    return BackMsg(**content).SerializeToString()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """An application that says which message it heard."""

    async def stream(websocket: WebSocket) -> None:
        await websocket.accept()
        try:
            while True:
                await websocket.send_text(kind_of(await websocket.receive_bytes()))
        except WebSocketDisconnect:
            return

    refusals._last.begin()
    routes = [WebSocketRoute(STREAM, stream), WebSocketRoute("/other", stream)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(OnlyItsMessages)]))


def test_every_kind_of_message_is_passed_on_or_left_out() -> None:
    kinds = {field.name for field in BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields}
    assert kinds - KINDS == OF_NO_PAGE


def test_what_no_page_says_is_not_heard(client: TestClient) -> None:
    with client.websocket_connect(STREAM) as socket:
        for name in OF_NO_PAGE:
            socket.send_bytes(said(**{name: True}))
        # the last of several in one message counts
        socket.send_bytes(said(stop_script=True) + said(clear_cache=True))
        socket.send_bytes(said(app_heartbeat=True))
        assert socket.receive_text() == "app_heartbeat"
    with client.websocket_connect("/other") as socket:
        socket.send_bytes(said(clear_cache=True))
        assert socket.receive_text() == "clear_cache"


@pytest.mark.parametrize("data", [b"", b"\xff" * 40, "text", b"\0" * (MOST_BYTES + 1)])
def test_a_socket_that_sends_no_message_is_closed_with_one_line(
    client: TestClient, data: bytes | str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="palimpsest.server"):
        for _ in range(3):
            with client.websocket_connect(STREAM) as socket:
                if isinstance(data, str):
                    socket.send_text(data)
                else:
                    socket.send_bytes(data)
                with pytest.raises(WebSocketDisconnect) as closed:
                    socket.receive_text()
            assert closed.value.code == 1008
    assert len(warnings_in(caplog)) == 1


def test_a_socket_that_vanishes_in_use_is_a_line_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def spoken_to(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.close()
        await websocket.send_text("too late")

    refusals._last.begin()
    app = Starlette(
        routes=[WebSocketRoute(STREAM, spoken_to)], middleware=[Middleware(OnlyItsMessages)]
    )
    for _ in range(3):
        with TestClient(app).websocket_connect(STREAM) as socket:
            assert socket.receive()["type"] == "websocket.close"
    assert len(warnings_in(caplog)) == 1


def test_a_flood_is_heard_no_faster_than_a_page(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    clock = [0.0]

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(messages, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(messages, "asyncio", SimpleNamespace(sleep=sleep))
    with client.websocket_connect(STREAM) as socket:
        for count in range(3 * AT_ONCE):
            socket.send_bytes(said(app_heartbeat=True))
            assert socket.receive_text() == "app_heartbeat"
            if count == AT_ONCE // 2:
                assert not waited  # as many as a hasty reader's page sends are not held up
    assert clock[0] >= 2 * SECONDS


def test_an_exception_of_one_place_is_logged_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from streamlit import error_util

    clock = [1000.0]
    refusals._last.begin()
    monkeypatch.setattr(memory.time, "monotonic", lambda: clock[0])
    logger = logging.getLogger(refusals.LOGGERS[0])
    assert logger is error_util._LOGGER
    only = refusals.OncePerMinute()
    logger.addFilter(only)
    logger.addHandler(caplog.handler)
    try:
        for value in ({}, [], {}, {}):
            try:
                hash(value)
            except TypeError as error:
                error_util._log_uncaught_app_exception(error)
        try:
            int("x")
        except ValueError as error:
            error_util._log_uncaught_app_exception(error)
        assert len(caplog.records) == 2
        clock[0] += refusals.EVERY
        error_util._log_uncaught_app_exception(TypeError("raised nowhere"))
        logger.error("no exception")
        assert len(caplog.records) == 4
    finally:
        logger.removeFilter(only)
        logger.removeHandler(caplog.handler)


def test_a_server_logs_what_a_visitor_causes_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def serve() -> None:
        async with start._serving(None):  # type: ignore[arg-type]
            for module in (errors, jobs):
                logger, bug = logging.getLogger(module.__name__), ValueError(module.__name__)
                refusals._last.begin()
                for _ in range(2):
                    logger.error("a page failed", exc_info=bug)

    monkeypatch.setattr(start, "warm", lambda: None)
    try:
        run_alone(serve())
        logged = [record.name for record in caplog.records if record.exc_info]
        assert logged == [errors.__name__, jobs.__name__]
    finally:
        for name in refusals.LOGGERS:
            logging.getLogger(name).filters.clear()


def test_every_entry_has_it() -> None:
    assert OnlyItsMessages in [each.cls for each in server()["middleware"]]


def test_a_socket_holds_little_before_its_message_is_looked_at() -> None:
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf8"))
    assert MOST_BYTES <= settings["server"]["maxMessageSize"] * MEGABYTE <= 2**25
