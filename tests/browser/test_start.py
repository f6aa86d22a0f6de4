"""`make app` on a machine where Streamlit never ran: nobody is asked anything, and only this
computer is let in."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.server import serve, started

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def make_app(tmp_path: Path) -> Iterator[str]:
    """Address of what `make app` starts with an empty home, no standard input, and a screen to open
    a browser on."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    home, tools, installed = tmp_path / "home", tmp_path / "tools", tmp_path / "venv"
    home.mkdir()
    _script(tools / "xdg-open", "exit 0")
    _script(
        installed / "bin" / "python", f'exec "{sys.executable}" "$@"'
    )  # what make would install is here already
    (installed / "app.stamp").touch()
    path = f"{tools}:{os.environ['PATH']}"
    fresh = {"HOME": str(home), "XDG_CONFIG_HOME": str(home), "DISPLAY": ":99", "PATH": path}
    command = ["make", "app", f"VENV={installed}"]
    with started(command, tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0", **fresh) as (_, address):
        yield address


def _script(path: Path, line: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def test_make_app_asks_nothing_and_its_first_page_answers(
    chromium: BrowserContext, make_app: str
) -> None:
    page = chromium.new_page()
    page.goto(make_app)
    expect(page.locator("h1")).to_be_visible()
    expect(
        page.get_by_text("Local mode")
    ).to_be_visible()  # make's address counts, not the environment's
    page.close()


def test_an_instance_on_every_interface_is_shared(chromium: BrowserContext, tmp_path: Path) -> None:
    with serve(tmp_path, STREAMLIT_SERVER_ADDRESS="0.0.0.0") as address:
        page = chromium.new_page()
        page.goto(f"{address}/rsa?base=path:/tmp/model&compare=zoo:parse-0")
        expect(page.get_by_text("Shared mode")).to_be_visible()
        expect(page.get_by_test_id("stAlert").first).to_be_visible()
        page.close()


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
