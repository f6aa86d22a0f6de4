"""`make app` on a machine where Streamlit never ran: nobody is asked anything, and only this
computer is let in."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.server import make_command, serve, started
from tests.load.limited import usage

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SETTLES, SECOND = 60.0, 2.0  # seconds until a page is quiet, at most; of one look
OPEN, MOST_SPENT = 20.0, 1.5  # seconds that a page is open; processor seconds of the server in them


@pytest.fixture(scope="module")
def make_app(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """Process and address of what `make app` starts with an empty home, no standard input, and a screen to open
    a browser on."""
    folder = tmp_path_factory.mktemp("make")
    home, tools = folder / "home", folder / "tools"
    home.mkdir()
    tools.mkdir()
    opener = tools / "xdg-open"
    opener.write_text("#!/bin/sh\nexit 0\n")
    opener.chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    fresh = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "DISPLAY": ":99", "PATH": path}
    with started(
        make_command(folder), folder, STREAMLIT_SERVER_ADDRESS="0.0.0.0", **fresh
    ) as running:
        yield running


def test_make_app_asks_nothing_and_its_first_page_answers(
    chromium: BrowserContext, make_app: tuple[subprocess.Popen[bytes], str]
) -> None:
    page = chromium.new_page()
    page.goto(make_app[1])
    expect(page.locator("h1")).to_be_visible()
    expect(
        page.get_by_text("Local mode")
    ).to_be_visible()  # make's address counts, not the environment's
    page.close()


@pytest.mark.exhaustive
def test_a_page_that_is_only_open_costs_nothing(
    chromium: BrowserContext, make_app: tuple[subprocess.Popen[bytes], str]
) -> None:
    make, address = make_app
    page = chromium.new_page()
    page.goto(f"{address}/rsa")
    expect(page.get_by_test_id("stVegaLiteChart").first).to_be_visible()
    until = time.monotonic() + SETTLES
    while (spent := _spent(make, SECOND)) > SECOND / 10 and time.monotonic() < until:
        pass  # the heavy imports in the background
    spent = _spent(make, OPEN)
    assert spent < MOST_SPENT, f"{spent:.2f} processor seconds in {OPEN:.0f} s"
    page.close()


def _spent(make: subprocess.Popen[bytes], seconds: float) -> float:
    """Processor seconds of all that make has started, within seconds of the clock."""
    before = usage(make.pid)[0]
    time.sleep(seconds)
    return usage(make.pid)[0] - before


@pytest.mark.exhaustive
def test_an_instance_on_every_interface_is_shared(chromium: BrowserContext, tmp_path: Path) -> None:
    with serve(tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0") as address:
        page = chromium.new_page()
        page.goto(f"{address}/rsa?base=path:/tmp/model&compare=zoo:parse-0")
        expect(page.get_by_text("Shared mode")).to_be_visible()
        expect(page.get_by_test_id("stAlert").first).to_be_visible()
        page.close()


@pytest.mark.exhaustive
def test_an_instance_whose_store_is_replaced_shows_its_pages_and_begins_a_new_one(
    chromium: BrowserContext, tmp_path: Path
) -> None:
    with serve(tmp_path) as address:
        page = chromium.new_page()
        page.goto(address)
        expect(page.get_by_text("Store: ")).to_be_visible()
        shutil.rmtree(tmp_path / "store")
        (tmp_path / "store").write_text("something else")
        page.goto(f"{address}/rsa")
        expect(page.locator("h1")).to_be_visible()
        expect(page.get_by_text("Results are shown but not kept")).to_be_visible()
        (tmp_path / "store").unlink()
        page.goto(f"{address}/rsa")
        expect(page.get_by_text("Store: ")).to_be_visible()
        page.close()
