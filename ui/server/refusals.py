"""What the server answers to whom it turns away, and the lines in its log of what a visitor can
cause at will: one a minute of each kind."""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

EVERY = 60.0  # seconds
LOGGER = logging.getLogger("palimpsest.server")
_last: dict[str, float] = {}


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, sentence: str, **headers: str
) -> None:
    """Answer with a sentence; a socket is closed before it is open, which no browser explains."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await PlainTextResponse(sentence, status, headers)(scope, receive, send)


def warn_rarely(kind: str, sentence: str) -> None:
    """Log a warning, unless there was one of this kind within a minute."""
    now = time.monotonic()
    if now - _last.get(kind, -EVERY) >= EVERY:
        _last[kind] = now
        LOGGER.warning("%s", sentence)


def note_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what fails in the server's loop: a lack of files in a line, anything else as before."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        warn_rarely(
            "files",
            "This server has as many files open as it may, and new visitors wait. Raise the limit "
            "before the start: ulimit -n 4096.",
        )
    else:
        loop.default_exception_handler(context)
