"""The back button: one act of a reader makes one entry, whatever the page chooses by itself on the
way."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_layout import views_of
from ui.frame.shell import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHART = "[data-testid=stMain] [data-testid=stVegaLiteChart]"
DRAWN = f"{CHART} svg.marks"
STUDIES = [Path(entry.path).stem for entry in PAGES if entry.question]


def entries(page: Page) -> int:
    """How many entries the tab's history has, once the page has said all that it has to say."""
    page.wait_for_timeout(500)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(500)
    return int(page.evaluate("history.length"))


@pytest.mark.parametrize("name", STUDIES)
def test_a_change_of_view_is_one_entry(page: Page, app_url: str, name: str) -> None:
    page.goto(f"{app_url}/{name}")
    expect(page.locator(DRAWN).first).to_be_visible()
    before, made, first = entries(page), {}, page.url
    for view in views_of(page, several=True):
        now = entries(page)
        made[view] = (now - before, page.url)
        before = now
    assert {count for count, address in made.values() if address != first} == {1}, made
    for _, address in reversed(list(made.values())[:-1]):
        page.go_back()
        expect(page).to_have_url(address)


def test_a_click_on_a_point_is_one_entry_and_back_leads_where_it_was(
    page: Page, app_url: str
) -> None:
    page.goto(f"{app_url}/rsa?view=By+layer&draws=200")
    expect(page.locator(DRAWN).first).to_be_visible()
    before, address = entries(page), page.url
    page.locator(f"{CHART} path[aria-label*='Layer: 3']").first.click(force=True)
    expect(page.get_by_role("slider", name="Layer")).to_have_value("3")
    assert entries(page) == before + 1
    page.go_back()
    expect(page).to_have_url(address)
    entries(page)
    expect(page).to_have_url(address)
    expect(page.get_by_role("slider", name="Layer")).to_have_count(0)


def test_layers_that_are_played_are_one_entry(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa?view=Token+map&layer=3")
    expect(page.get_by_role("slider", name="Layer")).to_have_attribute("aria-valuetext", "3")
    before, address = entries(page), page.url
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("slider", name="Layer")).to_have_attribute("aria-valuetext", "6")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    assert entries(page) == before + 1
    assert "layer=6" in page.url
    page.go_back()
    expect(page).to_have_url(address)
