"""Streamlit's page with our style sheet in it.

A style sheet that a script draws comes after the first elements, which then move. Behind the place
where Streamlit draws it is there from the start, and follows Streamlit's own rules, as it must.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

STYLE = Path(__file__).parents[1] / "frame" / "page.css"
ROOT = b'<div id="root"></div>'  # where Streamlit draws; no other page has it
# What a browser would compare a page by that it keeps: it would keep one with an older style sheet.
KEPT_BY = ("etag", "last-modified")


class Styled:
    """Put the style sheet into Streamlit's page; pass on everything else as it is."""

    def __init__(self, app: ASGIApp) -> None:
        """Stand before an application, and read the style sheet."""
        self.app = app
        self.style = f"<style>{STYLE.read_text(encoding='utf8')}</style>\n".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as the application does, with the style sheet in its pages."""
        if scope["type"] != "http" or "text/html" not in Headers(scope=scope).get("accept", ""):
            await self.app(scope, receive, send)
            return
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self.app({**scope, "headers": plain}, receive, _Adding(self.style, send).send)


class _Adding:
    """Holds a page back until it is whole; passes on what is none."""

    def __init__(self, style: bytes, send: Send) -> None:
        self._style, self._send = style, send
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            kind = Headers(raw=message["headers"]).get("content-type", "")
            if kind.startswith("text/html"):
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body"):
                return
            message = {"type": "http.response.body", "body": self._whole()}
            await self._send(self._start)
            self._start = None
        await self._send(message)

    def _whole(self) -> bytes:
        """The page with the style sheet, whose length and age its headers say."""
        assert self._start is not None
        before, root, after = self._body.partition(ROOT)
        whole = before + root + self._style + after if root else self._body
        headers = MutableHeaders(raw=self._start["headers"])
        if root:
            for name in KEPT_BY:
                del headers[name]
            headers["content-length"] = str(len(whole))
        return whole
