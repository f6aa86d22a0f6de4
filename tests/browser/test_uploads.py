"""Uploads: those that arrive late are read all the same, and those to a shared instance by who does
not ask the widget are bound by the mode, each and all of a session."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, BrowserContext, Page, Route, WebSocketRoute, expect

from core.limits import MEGABYTE, SHARED
from tests.browser.conftest import PATIENCE
from tests.browser.form import THERE, line, unfold
from tests.browser.server import serve
from tests.cases import exhaustive
from ui.frame.uploads import LARGEST_HELD

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HELD = re.compile(r"^cache_memory_bytes\{.*UploadedFileManager.*\} ([\d.]+)$", re.MULTILINE)


SMALL = "rsa?sentences=40&words=200&references=false"
NAME = "mine.txt"
TEXT = b"The garden behind the house was quiet, and nobody went there in the evening. " * 40
READ = re.compile("corpus=upload")


@pytest.fixture
def sent(page: Page) -> list[Route]:
    """Uploads of the tab, each held back until the test lets it go on."""
    held: list[Route] = []
    page.route("**/_stcore/upload_file/**", lambda route: held.append(route))
    return held


def open_uploader(page: Page, address: str) -> None:
    """Open a page with its first figure, its form and the form's uploader."""
    page.goto(address)
    expect(page.get_by_text(THERE).first).to_be_visible()
    unfold(page)
    page.get_by_role("button", name="Upload").click()
    page.locator("input[type=file]").wait_for(state="attached")


def choose(page: Page) -> None:
    """Choose a file in the uploader."""
    page.locator("input[type=file]").set_input_files(
        {"name": NAME, "mimeType": "text/plain", "buffer": TEXT}
    )


def wait_for_one(page: Page, held: Sequence[object]) -> None:
    """Wait until something is held back."""
    until = time.monotonic() + PATIENCE / 1000
    while not held:
        assert time.monotonic() < until, "nothing was sent"
        page.wait_for_timeout(50)


@pytest.mark.exhaustive
def test_a_file_that_arrives_after_its_popover_was_closed_is_read(
    page: Page, app_url: str, sent: list[Route]
) -> None:
    open_uploader(page, f"{app_url}/{SMALL}")
    choose(page)
    wait_for_one(page, sent)
    page.keyboard.press("Escape")
    page.get_by_role("heading").first.click()
    expect(page.locator("input[type=file]")).to_have_count(0)
    sent[0].continue_()
    page.get_by_role("button", name="Run", exact=True).first.click()
    expect(page).to_have_url(READ)
    expect(line(page)).to_contain_text(NAME)
    expect(page.get_by_text(THERE).first).to_be_visible()


@pytest.mark.exhaustive
@pytest.mark.parametrize("without", exhaustive([False, True], True))
def test_a_form_submitted_before_its_file_is_sent_waits_for_it(
    page: Page, app_url: str, sent: list[Route], without: bool
) -> None:
    late: list[tuple[WebSocketRoute, str | bytes]] = []
    slow = False

    def pass_on(browser: WebSocketRoute) -> None:
        server = browser.connect_to_server()
        browser.on_message(server.send)

        def answer(message: str | bytes) -> None:
            if slow:
                late.append((browser, message))
            else:
                browser.send(message)

        server.on_message(answer)

    page.route_web_socket("**/_stcore/stream", pass_on)
    open_uploader(page, f"{app_url}/{SMALL}&seed=1")
    slow = True
    choose(page)
    page.get_by_role("button", name="Run", exact=True).first.click()
    wait_for_one(page, late)
    slow = False
    for browser, message in late:
        browser.send(message)
    wait_for_one(page, sent)
    expect(page.get_by_test_id("stAlert").filter(has_text=NAME)).to_be_visible()
    expect(page).not_to_have_url(READ)
    if without:
        page.get_by_role("button", name="Run without this file").click()
    else:
        sent[0].continue_()
        expect(page).to_have_url(READ)
        expect(line(page)).to_contain_text(NAME)
    expect(page.get_by_test_id("stAlert").filter(has_text=NAME)).to_have_count(0)
    expect(page.get_by_text(THERE).first).to_be_visible()
    assert bool(READ.search(page.url)) is not without


def put(page: Page, address: str, headers: dict[str, str], size: int) -> APIResponse:
    content = {"name": "text.txt", "mimeType": "text/plain", "buffer": bytes(size)}
    return page.request.put(address, headers=headers, multipart={"file": content})


@pytest.mark.exhaustive
def test_a_shared_server_takes_and_holds_what_its_mode_says(
    chromium: BrowserContext, tmp_path: Path
) -> None:
    with serve(tmp_path, PALIMPSEST_MODE="shared") as url:
        page = chromium.new_page()
        open_uploader(page, f"{url}/rsa")
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
