"""The form of a page: one line until somebody wants to change it."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page

THERE = re.compile("Computed|Precomputed|Read from the store")  # how a page says where from


def line(page: Page) -> Locator:
    """The line that says the study and opens the form."""
    return page.locator("[data-testid=stMain] summary").filter(has_text="Change").first


def export(page: Page, label: str) -> None:
    """Press a button of the downloads."""
    page.get_by_role("button", name="Export", exact=True).click()
    page.get_by_role("button", name=label, exact=True).click()


def unfold(page: Page) -> None:
    """Open the form, once the page has been drawn: it would be drawn anew under the click."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(
        state="attached"
    )
    line(page).click()
    page.get_by_role("button", name="Run", exact=True).first.wait_for()
