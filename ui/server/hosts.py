"""Which names this instance answers to, for pages, files and sockets of every entry alike.

A page elsewhere can let its own name point at this computer (DNS rebinding) and then reads the app
as if it were its own, `path:` models included. What tells such a request is the name in `Host`, and
a socket's `Origin`. In local mode only this computer's names are answered, and those of
`server.allowedHosts`; a shared instance without that list answers to any name, because it shows
strangers nothing else, and names of hosts and proxies cannot be told beforehand.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from streamlit import config

from core import COMMAND
from core.limits import current_limits, is_loopback
from ui.server.refusals import refuse, warn_rarely

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

NAMES, ORIGINS = "server.allowedHosts", "server.corsAllowedOrigins"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[\w.-]+)(:\d{1,5})?", re.IGNORECASE | re.ASCII)


def name_this_computer() -> None:
    """Add this computer's names to those that Streamlit lets a socket come by, if they are limited,
    so that its list says what `answers_to` says."""
    listed = list(st.get_option(NAMES))
    local = not current_limits().shared and is_loopback(st.get_option("server.address"))
    if listed or local:
        config.set_option(NAMES, list(dict.fromkeys((*LOOPBACK, *listed))))


def answers_to(host: str) -> bool:
    """Whether this instance answers to the name in a `Host` header, with or without a port; "" if
    there is no header."""
    listed = st.get_option(NAMES)
    if not listed and current_limits().shared:
        return True
    named = HOST.fullmatch(host)
    if named is None:
        return False
    name = named[1].strip("[]").lower().rstrip(".")
    patterns = (pattern.strip().lower().rstrip(".") for pattern in listed)
    if is_loopback(name) or any(fnmatchcase(name, pattern) for pattern in patterns):
        return True
    # Nobody can let an address in numbers point elsewhere.
    return not listed and _in_numbers(name) and not is_loopback(st.get_option("server.address"))


def comes_from(origin: str, host: str) -> bool:
    """Whether a socket may come from the page of this `Origin`. Streamlit would ask a server
    elsewhere for this network's address to decide about a stranger's, and answer nobody
    meanwhile."""
    if not st.get_option("server.enableCORS") and current_limits().shared:
        return True  # behind a proxy that changes Host, as Streamlit documents
    try:
        page = urlsplit(origin)
    except ValueError:  # no address
        return False
    allowed = {urlsplit(each.strip()).netloc or each.strip() for each in st.get_option(ORIGINS)}
    return page.netloc in (host, *allowed) or page.hostname in LOOPBACK[:2]


class OnlyItsNames:
    """Refuse requests that come by another name, before anything else sees them."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with 403, or let the application answer."""
        refused = _refusal(scope) if scope["type"] in ("http", "websocket") else ""
        if not refused:
            await self.app(scope, receive, send)
            return
        warn_rarely("names", refused)
        await refuse(scope, receive, send, 403, refused)


def _refusal(scope: Scope) -> str:
    headers = Headers(scope=scope)
    hosts = headers.getlist("host") or [""]
    if len(hosts) > 1 or not answers_to(hosts[0]):
        return (
            f"Palimpsest does not answer to the name {_shown(hosts[0])}. "
            "Open it under localhost, or, if the name is yours, "
            f"start it with {COMMAND} app --host=name or --server.allowedHosts=name."
        )
    origin = headers.get("origin")
    if scope["type"] == "websocket" and origin is not None and not comes_from(origin, hosts[0]):
        return (
            f"A page under the name {_shown(origin.rpartition('/')[2])} may not use Palimpsest. "
            "If it is yours, name its address in --server.corsAllowedOrigins."
        )
    return ""


def _shown(host: str) -> str:
    return host[:255] if HOST.fullmatch(host) else "that this request gives"


def _in_numbers(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
