"""The frame in a real browser: navigation, a job that goes on while the reader is elsewhere, and
both themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.form import THERE
from ui.frame.shell import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_every_page_is_reached_from_the_navigation(page: Page, app_url: str) -> None:
    page.goto(app_url)
    for entry in PAGES:
        page.get_by_test_id("stSidebarNav").get_by_text(entry.title, exact=True).click()
        expect(page.get_by_test_id("stSidebarNav").locator("[aria-current=page]")).to_contain_text(
            entry.title
        )
        expect(page.locator("h1")).to_be_visible()
        assert page.get_by_test_id("stException").count() == 0


@pytest.mark.exhaustive
def test_a_study_goes_on_while_its_reader_is_on_another_page(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa?sentences=60&words=200&compare=zoo:parse-0&seed=7")
    expect(page.get_by_role("heading", name="Which layers")).to_be_visible()
    link = page.url
    page.get_by_test_id("stSidebarNav").get_by_text("Home", exact=True).click()
    expect(page.get_by_role("heading", name="Included models")).to_be_visible()
    page.goto(link)
    expect(page.get_by_text(THERE).first).to_be_visible(timeout=300_000)  # one study may run first


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_reader(page: Page, app_url: str, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.goto(app_url)
    expect(page.locator("h1")).to_be_visible()
    background = page.get_by_test_id("stApp").evaluate(
        "node => getComputedStyle(node).backgroundColor"
    )
    assert background == {"light": "rgb(253, 251, 246)", "dark": "rgb(25, 23, 20)"}[scheme]
