"""The server's own addresses: `/metrics`, and `/r/<key>` for a report that was kept.

`ui.server.start` adds them to the app.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ui.archive.reports import address_of, read_report
from ui.frame.links import base_path
from ui.server.metrics import metrics_text, served

FORMAT = "text/plain; version=0.0.4; charset=utf-8"
GONE = (
    "There is no report at this address. It may have left the store: "
    "open the study and keep it again."
)
# A report is one file of text and pictures: it needs no script and nothing from elsewhere.
STRICT = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def metrics(request: Request) -> Response:
    """Answer with the metrics, or as if there were none."""
    if not served():
        return PlainTextResponse("Not Found", 404)
    return Response(metrics_text(), media_type=FORMAT)


def report(request: Request) -> Response:
    """Answer with a kept report."""
    page = read_report(request.path_params["key"])
    if page is None:
        return PlainTextResponse(GONE, 404)
    return Response(page, media_type="text/html", headers=STRICT)


def routes() -> tuple[Route, ...]:
    """Return the server's own addresses, below its base path if it has one."""
    return (Route(f"{base_path()}/metrics", metrics), Route(address_of("{key}"), report))
