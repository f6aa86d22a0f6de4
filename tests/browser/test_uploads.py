"""Uploads to a shared instance by who does not ask the widget: each is bound by the mode, and all
of a session too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, BrowserContext, Page

from core.limits import MEGABYTE, SHARED
from tests.browser.form import unfold
from tests.browser.server import serve
from ui.frame.uploads import LARGEST_HELD

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HELD = re.compile(r"^cache_memory_bytes\{.*UploadedFileManager.*\} ([\d.]+)$", re.MULTILINE)


def put(page: Page, address: str, headers: dict[str, str], size: int) -> APIResponse:
    content = {"name": "text.txt", "mimeType": "text/plain", "buffer": bytes(size)}
    return page.request.put(address, headers=headers, multipart={"file": content})


def test_a_shared_server_takes_and_holds_what_its_mode_says(
    chromium: BrowserContext, tmp_path: Path
) -> None:
    with serve(tmp_path, PALIMPSEST_MODE="shared") as url:
        page = chromium.new_page()
        page.goto(f"{url}/rsa")
        unfold(page)
        page.get_by_role("button", name="Upload").click()
        with page.expect_request(lambda request: request.method == "PUT") as sent:
            page.locator("input[type=file]").set_input_files(
                {"name": "mine.txt", "mimeType": "text/plain", "buffer": b"One sentence."}
            )
        session = sent.value.url.rpartition("/")[0]
        token = {
            name: value
            for name, value in sent.value.all_headers().items()
            if name in ("x-xsrftoken", "cookie")
        }
        largest = SHARED.max_upload_bytes
        assert put(page, f"{session}/big", token, largest + MEGABYTE // 2).status == 413
        for number in range(12):
            assert put(page, f"{session}/{number}", token, largest - 2000).status == 204
        held = HELD.search(page.request.get(f"{url}/_stcore/metrics").text())
        assert held is not None
        assert 0 < float(held[1]) <= LARGEST_HELD * largest
        page.close()
