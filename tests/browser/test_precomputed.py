"""A fresh install in a real browser: every page has its figure at once, and the server never
imports torch."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from core.models import zoo_folder
from core.runs.precomputed import FILE
from tests.browser.server import ENTRY, started
from tests.browser.test_layout import settle
from tests.cases import exhaustive

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# of the server's processor time between click and figure: on two idle cores about what a reader
# waits
SECONDS = 3.0
# where the last card is, each time that it is elsewhere
NOTED = """window.tops = [];
(function look() {
    const card = document.querySelector("[class*=st-key-open_Seed]");
    const top = card && card.getBoundingClientRect().top;
    if (card && top !== window.tops.at(-1)) window.tops.push(top);
    requestAnimationFrame(look);
})()"""
FIGURE = (
    300  # pixels that a large figure has at least; page.css, which comes late, moves half of it
)


def test_every_page_shows_its_figure_at_once_without_torch(
    chromium: BrowserContext, tmp_path: Path
) -> None:
    if not (zoo_folder() / FILE).is_file():
        pytest.skip("nothing is precomputed yet: make precomputed")
    if not Path("/proc/self/maps").exists():
        pytest.skip("what a process has loaded is read from /proc")
    with started(ENTRY, tmp_path) as (server, address):
        page = chromium.new_page()
        page.goto(address)
        expect(page.get_by_test_id("stVegaLiteChart")).to_have_count(1)
        for name in ("RSA", "Probe trees", "Weight clustering", "Seed alignment"):
            before = _seconds(server.pid)
            page.get_by_test_id("stSidebarNav").get_by_text(name, exact=True).click()
            expect(page.get_by_text("Precomputed")).to_be_visible()
            expect(_first_chart(page)).to_be_visible()
            assert _seconds(server.pid) - before < SECONDS, name
            page.get_by_test_id("stSidebarNav").get_by_text("Home", exact=True).click()
            expect(page.get_by_text("More examples")).to_be_visible()
        loaded = Path(f"/proc/{server.pid}/maps").read_text(encoding="utf8")
        assert "streamlit" in loaded or "numpy" in loaded  # what is looked for below would be seen
        assert "libtorch" not in loaded
        page.close()


@pytest.mark.exhaustive
@pytest.mark.parametrize("width", exhaustive([1280, 420], 1280))
def test_nothing_moves_on_home_when_its_figure_is_drawn(
    page: Page, app_url: str, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.add_init_script(NOTED)
    page.goto(app_url)
    expect(_first_chart(page)).to_be_visible()
    settle(page)
    assert _first_chart(page).bounding_box()["height"] > FIGURE  # type: ignore[index]
    tops = page.evaluate("window.tops")
    assert max(tops) - min(tops) < FIGURE, tops


@pytest.mark.exhaustive
def test_a_card_is_a_link_wherever_it_is_clicked(page: Page, app_url: str) -> None:
    page.goto(app_url)
    settle(page)
    expect(_first_chart(page)).to_be_visible()  # nothing moves any more
    page.locator("[class*=st-key-open_Seed]").click(position={"x": 150, "y": 5})
    expect(page).to_have_url(f"{app_url}/seed_alignment")
    page.goto(app_url)
    settle(page)
    page.get_by_text("More examples").click()
    card = page.locator("[class*=st-key-open_frozen]")
    expect(card.get_by_test_id("stVegaLiteChart")).to_be_visible()
    card.click()  # its middle: the figure
    expect(page).to_have_url(re.compile("/rsa[?].*parse-frozen-2"))


@pytest.mark.exhaustive
def test_the_link_of_what_is_shown_is_copied(page: Page, app_url: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=app_url)
    page.goto(f"{app_url}/rsa?drop_rogue=1")
    settle(page)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied")).to_be_visible()
    assert "drop_rogue=1" in page.evaluate("navigator.clipboard.readText()")


def _first_chart(page: Page):
    return page.get_by_test_id("stVegaLiteChart").first.locator("canvas, svg").first


def _seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
