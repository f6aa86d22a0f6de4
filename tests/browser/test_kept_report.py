"""A report is kept at an address of its own, where it is read without the app."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.form import export

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_report_is_kept_and_read_at_its_address(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa")
    # a press while the page is drawn for the first time is lost with what it pressed
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    export(page, "Report")
    page.get_by_role("button", name="Keep at an address").click()
    link = page.get_by_role("link", name="/r/")
    expect(link).to_be_visible()
    problems: list[str] = []
    page.on("console", lambda said: problems.append(said.text))  # what the policy refuses
    page.goto(f"{app_url}{link.get_attribute('href')}")
    expect(page.locator("svg, img").first).to_be_visible()
    expect(page.get_by_text("Caveats", exact=False).or_(page.locator("h1")).first).to_be_visible()
    assert problems == []
