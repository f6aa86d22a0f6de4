"""The style sheet in Streamlit's page: behind its root, in no other page, never an old one."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from ui.server.style import STYLE, Styled

PAGE = {"accept": "text/html,*/*;q=0.8", "accept-encoding": "gzip"}
HTML = '<html><head></head><body>é<div id="root"></div></body></html>'
OTHER = "<html><body>a report</body></html>"


@pytest.fixture
def client() -> TestClient:
    async def parts(_: object) -> Response:
        halves = (HTML[:30].encode(), HTML[30:].encode())

        async def of_page():  # type: ignore[no-untyped-def]
            for half in halves:
                yield half

        return StreamingResponse(of_page(), media_type="text/html")

    old = {"etag": "x", "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}
    routes = [
        Route("/", lambda _: HTMLResponse(HTML, headers=old)),
        Route("/parts", parts),
        Route("/none", lambda _: HTMLResponse(OTHER, headers=old)),
        Route("/data", lambda _: JSONResponse({"page": HTML})),
    ]
    inside = [Middleware(Styled), Middleware(GZipMiddleware, minimum_size=1)]
    return TestClient(Starlette(routes=routes, middleware=inside))


@pytest.mark.parametrize("path", ["/", "/parts"])
def test_a_page_has_the_style_sheet_at_its_end(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=PAGE)
    style = STYLE.read_text(encoding="utf8")
    assert answer.text == HTML.replace("</div>", f"</div><style>{style}</style>\n")
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert not {"etag", "last-modified", "content-encoding"} & {*answer.headers}


def test_everything_else_is_as_it_was(client: TestClient) -> None:
    assert client.get("/data", headers=PAGE).json() == {"page": HTML}
    assert client.get("/").text == HTML  # what no browser shows as a page
    without = client.get("/none", headers=PAGE)
    assert (without.text, without.headers["etag"]) == (OTHER, "x")
