"""What the server answers to visitors that it turns away, and log lines that a visitor can cause:
one a minute of each kind."""

from __future__ import annotations

import asyncio
import errno
import logging
from typing import TYPE_CHECKING, Any

from starlette.responses import PlainTextResponse

from core.runs.process.remembered import Memory

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

EVERY = 60.0  # seconds
LOGGER = logging.getLogger("palimpsest.server")
# of exceptions that a visitor can cause: Streamlit's logger of a page's script, and our own
LOGGERS = ("streamlit.error_util", "ui.frame.errors", "ui.study.jobs")
_last: Memory[bool] = Memory(256, seconds=EVERY)  # by kind: whether it was logged


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
    if _is_due(kind):
        LOGGER.warning("%s", sentence)


def _is_due(kind: str) -> bool:
    due = _last.fresh(kind) is None
    if due:
        _last.put(kind, True)
    return due


class OncePerMinute(logging.Filter):
    """Let an exception from one place into the log once a minute: a visitor who gives a widget
    another kind of value than its own causes thousands."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            return True
        last = error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        place = "" if last is None else f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}"
        return _is_due(f"{type(error).__name__} {place}")


def note_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log what fails in the server's loop: a lack of files in a line, anything else as before."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        warn_rarely(
            "files",
            "This server has as many files open as it may, and new visitors wait. "
            "Raise the limit before the start: ulimit -n 4096.",
        )
    else:
        loop.default_exception_handler(context)
