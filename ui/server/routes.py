"""The server's own addresses: `/metrics`, `/r/<key>` for a report that was kept, and `/r/<key>.png`
for its preview picture.

`ui.server.start` adds them to the app.
"""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ui.archive.reports import address_of, picture_of, read_picture, read_report
from ui.frame.links import base_path
from ui.server.metrics import metrics_text, served

FORMAT = "text/plain; version=0.0.4; charset=utf-8"
GONE = (
    "There is no report at this address. It may have left the store: "
    "open the study and keep it again."
)
# In a chat, a link to a report shows the picture at this address, which has to be whole.
PREVIEW = (
    '<meta property="og:image" content="{0}"><meta name="twitter:card" '
    'content="summary_large_image">'
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
    key = request.path_params["key"]
    page = read_report(key)
    if page is None:
        return PlainTextResponse(GONE, 404)
    if read_picture(key) is not None:
        at = picture_of(str(request.url.replace(query="", fragment="")))
        preview = PREVIEW.format(escape(at)).encode("utf8", "replace")
        page = page.replace(b"</title>", b"</title>" + preview, 1)
    return Response(page, media_type="text/html", headers=STRICT)


def picture(request: Request) -> Response:
    """Answer with the preview picture of a kept report."""
    content = read_picture(request.path_params["key"])
    if content is None:
        return PlainTextResponse(GONE, 404)
    return Response(content, media_type="image/png", headers=STRICT)


def routes() -> tuple[Route, ...]:
    """Return the server's own addresses, below its base path if it has one."""
    reports = address_of("{key}")
    return (
        Route(f"{base_path()}/metrics", metrics),
        Route(picture_of(reports), picture),
        Route(reports, report),
    )
