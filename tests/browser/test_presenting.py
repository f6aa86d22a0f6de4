"""Presentation in a real browser: every view of every page shows its chart, and nothing that
belongs to a reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, FloatRect, Page, expect

from tests.browser.screenshots import views, with_figures
from tests.cases import exhaustive
from ui.frame.shell import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHART = "[data-testid=stMain] [data-testid=stVegaLiteChart]"
TABLE_TITLE = "[data-testid=stElementContainer]:has(+ * [data-testid=stDataFrame])"
VIEWS = {Path(entry.path).stem: views(entry.path) for entry in PAGES if entry.question}
LOWEST, NARROWEST = 120, 200  # pixels of a figure that a hall can see
MOST_SECONDS = 240
LOOKS, PAUSE = 50, 200  # at figures that arrive one after another; milliseconds between two


@pytest.fixture(scope="module")
def hall(chromium: BrowserContext) -> Iterator[Page]:
    """One tab for all views, as a lecturer has it."""
    tab = chromium.new_page()
    yield tab
    tab.close()


@pytest.mark.exhaustive
@pytest.mark.parametrize("page_name", exhaustive(VIEWS, "weight_clustering"))
def test_every_view_shows_its_chart_in_presentation(
    hall: Page, app_url: str, page_name: str
) -> None:
    """As a lecturer goes through them, with the arrow key."""
    first, *others = VIEWS[page_name]
    shown = hall.locator(".st-key-views [role=radio][aria-checked=true]").first
    hall.goto(f"{app_url}/{page_name}?present=1")
    check(hall, first)
    for view in others:
        hall.keyboard.press("ArrowRight")
        expect(shown).to_have_text(view)
        if view in with_figures(f"pages/{page_name}.py"):
            check(hall, view)


def check(hall: Page, view: str) -> None:
    """The view that is shown has figures to be seen from the last row, and nothing of a reader's."""
    shown = hall.locator(CHART).filter(visible=True)
    expect(shown.first).to_be_visible(timeout=MOST_SECONDS * 1000)
    expect(hall.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    boxes = _boxes(hall)
    assert max(box["height"] for box in boxes) >= LOWEST, view  # beside a strip of legend
    assert min(box["width"] for box in boxes) >= NARROWEST, view
    assert hall.locator(CHART).count() == len(boxes), view  # none is hidden
    for name in ("stDownloadButton", "stForm", "stSidebar", "stSegmentedControl", "stDataFrame"):
        assert hall.get_by_test_id(name).filter(visible=True).count() == 0, (view, name)
    assert hall.locator(TABLE_TITLE).filter(visible=True).count() == 0, view
    assert hall.get_by_role("button", name="Export", exact=True).count() == 0, view


def _boxes(tab: Page) -> list[FloatRect]:
    """Places of the figures that are shown, once all that are there are."""
    charts = tab.locator(CHART)
    for _ in range(LOOKS):
        shown = charts.filter(visible=True).all()
        boxes = [box for chart in shown if (box := chart.bounding_box())]
        if boxes and len(boxes) == charts.count():
            break
        tab.wait_for_timeout(PAUSE)
    return boxes


def test_a_presentation_fills_a_large_screen(hall: Page, app_url: str) -> None:
    before = hall.viewport_size
    hall.set_viewport_size({"width": 1920, "height": 1080})
    try:
        hall.goto(f"{app_url}/rsa?present=1")
        expect(hall.locator(CHART).first).to_be_visible(timeout=MOST_SECONDS * 1000)
        expect(hall.get_by_test_id("stApp")).to_have_attribute(
            "data-test-script-state", "notRunning"
        )
        boxes = _boxes(hall)
        ends = [box["y"] + box["height"] for box in boxes]
        assert 0.75 * 1080 < max(ends) <= 1080
        left = min(box["x"] for box in boxes)
        assert max(box["x"] + box["width"] for box in boxes) - left > 0.75 * 1920
    finally:
        if before is not None:
            hall.set_viewport_size(before)
