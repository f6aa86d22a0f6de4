"""A real Chromium against the real app, started on a free port with a store of its own."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.models import read_manifest
from tests.browser.server import serve
from ui.browser.scripts import KEY

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
FIRST_VISIT = "first visit"  # in a tab's storage, where the guide of a first visit is wanted
# a tab's first, blank page has no storage
GUIDED = f"""if (location.protocol.startsWith("http") && !sessionStorage.getItem("{FIRST_VISIT}"))
    localStorage.setItem("{KEY}", "shown")"""
PATIENCE = 120_000  # milliseconds; a slow machine is no fault of the app
# milliseconds: an expectation that has more time than this looks at the page twice a second, one
# that has less ten times
PIECE = 2_000


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the app, which runs until the last browser test is over."""
    if not {"seed-0", "parse-0"} <= {entry["name"] for entry in read_manifest()}:
        pytest.skip("the box has no models yet: make zoo")
    with serve(tmp_path_factory.mktemp("app")) as address:
        yield address


@pytest.fixture(scope="session")
def sharp_eyed() -> Iterator[None]:
    """Expectations see what they wait for within a tenth of a second, however long they may wait:
    they are asked again and again for a piece of their time."""
    from playwright._impl.frame import Frame

    expect = Frame._expect

    async def in_pieces(
        self: Any, selector: str | None, expression: str, options: Any, title: str | None
    ) -> Any:
        until = time.monotonic() + options["timeout"] / 1000
        while (left := 1000 * (until - time.monotonic())) > PIECE:
            part = {**options, "timeout": PIECE}
            answer = await expect(self, selector, expression, part, title)
            if not answer.get("timedOut"):
                return answer
        last = {**options, "timeout": max(left, 1)}
        return await expect(self, selector, expression, last, title)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Frame, "_expect", in_pieces)
        yield


@pytest.fixture(scope="session")
def chromium(
    tmp_path_factory: pytest.TempPathFactory, sharp_eyed: None
) -> Iterator[sync_api.BrowserContext]:
    """Debian's Chromium with an empty profile."""
    if not Path(CHROMIUM).is_file():
        missing = f"there is no Chromium at {CHROMIUM}: apt install chromium, or set CHROMIUM"
        if os.environ.get("PALIMPSEST_REQUIRE_BROWSER"):  # CI never skips these tests
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_api.sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=CHROMIUM,
            args=list(ARGUMENTS),
            viewport={"width": 1280, "height": 900},
            reduced_motion="reduce",  # what turns while a study runs takes a share of a processor
        )
        context.add_init_script(GUIDED)
        context.set_default_timeout(PATIENCE)
        sync_api.expect.set_options(timeout=PATIENCE)
        yield context
        context.close()


@pytest.fixture
def page(chromium: sync_api.BrowserContext, app_url: str) -> Iterator[sync_api.Page]:
    """A tab; at its end nothing may have failed in the console or been asked of another server."""
    tab = chromium.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(f"error: {error}"))
    tab.on("request", lambda request: _note_foreign(request.url, app_url, problems))
    yield tab
    tab.close()
    assert not problems


def _note_foreign(url: str, app_url: str, problems: list[str]) -> None:
    if url.startswith("http") and not url.startswith(app_url):
        problems.append(f"asked of another server: {url}")
