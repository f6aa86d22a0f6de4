"""Walking through the pages in one session on a fresh server: every page at its own defaults, busy
or not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.form import line, unfold
from tests.browser.server import serve
from ui.frame.shell import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TITLES = [entry.title for entry in PAGES if entry.question]
WALK = [TITLES[int(digit)] for digit in "012301203120132010231021302103210"]
PATHS = {entry.title: Path(entry.path).stem for entry in PAGES}

HELD = """form => [...form.querySelectorAll('input[type=number]')].map(field => field.value).concat(
    [...form.querySelectorAll('[data-tag], [role=combobox]')].map(node => node.textContent))"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own with an empty store."""
    with serve(tmp_path_factory.mktemp("walk")) as address:
        yield address


def go(page: Page, title: str) -> None:
    page.get_by_test_id("stSidebarNav").get_by_text(title, exact=True).click()
    expect(page.get_by_test_id("stSidebarNav").locator("[aria-current=page]")).to_contain_text(
        title
    )


def at_its_defaults(page: Page, address: str, title: str) -> None:
    """The address says nothing, nothing is refused, and the form holds what the page begins
    with."""
    expect(page.locator("h1")).to_be_visible()
    expect(line(page)).to_be_visible()
    expect(page).to_have_url(f"{address}/{PATHS[title]}")
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_test_id("stAlertContentError").count() == 0
    assert page.get_by_test_id("stAlertContentWarning").count() == 0


def values(page: Page) -> list[str]:
    """What the form's controls hold once all are drawn, and the line that says the study."""
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    form = page.get_by_test_id("stForm").first
    expect(form.locator("input[type=number]").first).to_be_attached()
    former: list[str] = []
    while True:
        seen = [line(page).inner_text(), *form.evaluate(HELD)]
        if seen == former:
            return seen
        former = seen
        page.wait_for_timeout(200)


@pytest.mark.exhaustive
def test_every_page_in_every_order_is_at_its_defaults_while_studies_run(
    chromium: BrowserContext, fresh: str
) -> None:
    """The first steps happen while a study is running; each order of the pages is a part of the
    walk."""
    assert {tuple(WALK[start : start + len(TITLES)]) for start in range(len(WALK))} >= set(
        permutations(TITLES)
    )
    expected: dict[str, list[str]] = {}
    for title in TITLES:
        tab = chromium.new_page()
        tab.goto(f"{fresh}/{PATHS[title]}")
        expect(line(tab)).to_be_visible()
        expected[title] = values(tab)
        tab.close()
    busy = chromium.new_page()
    busy.goto(f"{fresh}/rsa?seed=1&compare=zoo:parse-0")
    expect(busy.get_by_role("button", name="Cancel", exact=True)).to_be_visible()
    tab = chromium.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(fresh)
    for title in WALK:
        go(tab, title)
        at_its_defaults(tab, fresh, title)
        assert values(tab) == expected[title], title
    tab.close()
    busy.close()
    assert errors == []


@pytest.mark.exhaustive
def test_a_hyphen_in_the_address_leads_to_the_page(chromium: BrowserContext, fresh: str) -> None:
    tab = chromium.new_page()
    tab.goto(f"{fresh}/probe-trees?rank=8")
    expect(
        tab.get_by_role("heading", name="Is syntax still in the fine-tuned model?")
    ).to_be_visible()
    expect(tab).to_have_url(f"{fresh}/probe_trees?rank=8")
    tab.close()


@pytest.mark.exhaustive
def test_typing_a_model_adds_that_model_alone(chromium: BrowserContext, fresh: str) -> None:
    tab = chromium.new_page()
    tab.goto(f"{fresh}/rsa")
    unfold(tab)
    field = tab.get_by_role("combobox", name="Compared with")
    field.click()
    field.press_sequentially("pos-1")
    field.press("Enter")
    field.press("Escape")
    tab.get_by_role("button", name="Run", exact=True).click()
    expect(tab).to_have_url(
        f"{fresh}/rsa?compare=zoo%3Aparse-0&compare=zoo%3Asentiment-0&compare=zoo%3Anli-0&compare=zoo%3Apos-1"
    )
    # the address is all that is looked at: the server need not compute the study
    tab.get_by_role("button", name="Cancel", exact=True).click()
    expect(tab.get_by_role("button", name="Cancel", exact=True)).to_be_hidden()
    tab.close()


def test_the_back_button_leads_back_to_the_study(chromium: BrowserContext, fresh: str) -> None:
    tab = chromium.new_page()
    tab.goto(f"{fresh}/rsa?words=50")
    expect(line(tab)).to_be_visible()
    go(tab, "Home")
    expect(tab).to_have_url(f"{fresh}/")  # what goes back too soon leaves the app
    tab.go_back()
    expect(tab).to_have_url(f"{fresh}/rsa?words=50")
    expect(tab.get_by_role("heading", name="Which layers")).to_be_visible()
    unfold(tab)
    tab.get_by_text("Options", exact=True).click()
    expect(tab.get_by_role("spinbutton", name="Words sampled")).to_have_value("50")
    tab.close()
