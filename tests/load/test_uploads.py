"""A file that somebody uploaded is read in their session alone, whoever knows its name on the
server."""

from __future__ import annotations

import urllib.error
import urllib.request
import uuid
from pathlib import Path

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.browser.server import serve
from tests.load.tab import Tab, run_alone

NAME = "mine.txt"
TEXT = b"The garden behind the house was quiet."


@pytest.mark.slow
def test_a_file_is_its_sessions_own(tmp_path: Path) -> None:
    with serve(tmp_path, PALIMPSEST_MODE="shared") as address:
        run_alone(_two_sessions(address))


async def _two_sessions(address: str) -> None:
    async with Tab(address) as mine, Tab(address) as other:
        for tab in (mine, other):
            await tab.open("rsa")
            await tab.until(lambda tab: tab.settled and tab.of_type("file_uploader"))
        file = str(uuid.uuid4())
        path = f"{address}/_stcore/upload_file/{mine.session}/{file}"
        assert sent(path, "PUT")[0] == 204
        assert TEXT not in sent(path, "GET")[1]
        sent(f"{address}/_stcore/upload_file/{other.session}/{file}", "DELETE")
        await name_file(other, file, path)
        assert "upload" not in other.query, "another session's file is read"
        await name_file(mine, file, path)
        assert "upload" in mine.query, "the session's own file is not read: the test tests nothing"


async def name_file(tab: Tab, file: str, path: str) -> None:
    """Say that the uploader of the page holds this file."""
    uploader = tab.of_type("file_uploader")[0]
    state = WidgetState(id=uploader.id)
    described = state.file_uploader_state_value.uploaded_file_info.add()
    described.file_id, described.name, described.size = file, NAME, len(TEXT)
    described.file_urls.file_id = file
    described.file_urls.upload_url = described.file_urls.delete_url = path
    await tab.say(state)
    await tab.until(lambda tab: tab.settled)


def sent(path: str, method: str) -> tuple[int, bytes]:
    """Status and content of the answer to a request for a file; PUT sends one."""
    health = path.partition("/_stcore")[0] + "/_stcore/health"
    with urllib.request.urlopen(health, timeout=60) as answer:
        cookie = (answer.headers.get("Set-Cookie") or "").partition(";")[0]
    edge = uuid.uuid4().hex
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{NAME}"\r\n\r\n'
    body = head.encode() + TEXT + f"\r\n--{edge}--\r\n".encode() if method == "PUT" else None
    headers = {"Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2].strip('"')}
    headers["Content-Type"] = f"multipart/form-data; boundary={edge}"
    try:
        asked = urllib.request.Request(path, body, headers, method=method)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return int(answer.status), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
