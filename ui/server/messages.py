"""What a tab may say to the server.

Streamlit accepts more from anyone who opens a socket than its own pages send: to empty the
caches of everybody, in which this app keeps the studies that run; to watch files; to tell what is
in the repository. None of that is passed on, and who sends more messages than a page does is heard
no faster than one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError
from streamlit.proto.BackMsg_pb2 import BackMsg

from ui.server.refusals import warn_rarely

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

KINDS = frozenset(
    {
        "rerun_script",
        "stop_script",
        "app_heartbeat",
        "file_urls_request",
        "backend_operation_request",
    }
)
"""Of messages that a page of this app sends."""
STREAM = "/_stcore/stream"  # ends the address of a tab's socket
AT_ONCE, SECONDS = 50, 1.0  # messages of a socket that are heard within this many seconds
MOST_BYTES = 4 * 2**20  # of a message; files come by another way


class OnlyItsMessages:
    """Leave out what no page sends by its socket, and close a socket that sends no message."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, and hear what it should."""
        if scope["type"] != "websocket" or not scope["path"].endswith(STREAM):
            await self.app(scope, receive, send)
            return

        times = deque([-SECONDS] * AT_ONCE, AT_ONCE)  # of the last messages

        async def heard() -> Any:
            while True:
                wait = times[0] + SECONDS - time.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                times.append(time.monotonic())
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                kind = kind_of(message.get("bytes"))
                if kind in KINDS:
                    return message
                if not kind:
                    warn_rarely("messages", "A socket sent what no page sends, and was closed.")
                    await send({"type": "websocket.close", "code": 1008})
                    return {"type": "websocket.disconnect", "code": 1008}

        try:
            await self.app(scope, heard, send)
        except RuntimeError as error:  # a tab that vanished while it was heard or spoken to
            warn_rarely("vanished", f"A socket ended while it was in use: {error}")


def kind_of(data: bytes | None) -> str:
    """Return which message this is; "" if it is none, or larger than a page's."""
    if not data or len(data) > MOST_BYTES:
        return ""
    message = BackMsg()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return ""
    return str(message.WhichOneof("type") or "")
