"""What every entry starts: one server, with its own addresses, names and room.

`streamlit run app.py` finds the `st.App` in that file; `make app`, the image and every test run
just that.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from streamlit.net_util import get_internal_ip
from streamlit.web.server.server_util import get_url

from core.errors import listed
from core.limits import current_limits, is_loopback, share_beyond_loopback
from core.runs.process.cores import share_cores
from core.runs.process.memory import give_back_large_blocks
from ui.archive.reports import SERVED
from ui.frame.process import warm
from ui.server.hosts import OnlyItsNames, name_this_computer
from ui.server.messages import OnlyItsMessages
from ui.server.refusals import LOGGERS, OncePerMinute, note_failure
from ui.server.room import Room, raise_open_files
from ui.server.routes import routes
from ui.server.style import Styled

EVERYWHERE = (None, "", "0.0.0.0", "::")  # addresses that mean every interface


def server() -> dict[str, Any]:
    """Set up the process, before it imports what computes; return the arguments of `st.App`."""
    share_beyond_loopback(st.get_option("server.address"))
    prepare_process()
    name_this_computer()
    os.environ[SERVED] = "1"
    return {
        "routes": routes(),
        "middleware": [
            Middleware(OnlyItsNames),
            Middleware(Room),
            Middleware(OnlyItsMessages),
            Middleware(Styled),
        ],
        "lifespan": _serving,
    }


@cache
def prepare_process() -> None:
    """Set up the process once: open files, cores, memory."""
    raise_open_files()
    share_cores()
    give_back_large_blocks()


@asynccontextmanager
async def _serving(app: st.App) -> AsyncIterator[None]:
    asyncio.get_running_loop().set_exception_handler(note_failure)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(OncePerMinute())
    mode = "shared" if current_limits().shared else "local"
    print(f"Palimpsest answers at {listed(_addresses())} ({mode} mode).", flush=True)
    warm()
    yield


def _addresses() -> list[str]:
    address = st.get_option("server.address")
    if address in EVERYWHERE:
        return [get_url("localhost"), get_url(get_internal_ip() or "localhost")]
    return [get_url("localhost" if is_loopback(address) else address)]
