"""The back button: one act of a reader makes one entry, whatever the page chooses by itself on the
way."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_layout import entries
from tests.browser.test_rsa import SMALL

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHART = "[data-testid=stMain] [data-testid=stVegaLiteChart]"
DRAWN = f"{CHART} svg.marks"


@pytest.mark.exhaustive
def test_a_click_on_a_point_is_one_entry_and_back_leads_where_it_was(
    page: Page, app_url: str
) -> None:
    page.goto(f"{app_url}/rsa?{SMALL}&view=By+layer")
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


@pytest.mark.exhaustive
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
