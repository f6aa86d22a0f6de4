"""The weight clustering page in a real browser: a click on the map, the slider, the table, the
link, a telephone."""

from __future__ import annotations

import csv
import io
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.form import export
from tests.browser.test_layout import choose

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHARTS = "[data-testid=stVegaLiteChart]"
SMALL = "permutations=500"


def open_study(page: Page, app_url: str, **more: str) -> None:
    """A link straight to the study of the box; it runs without a click."""
    extra = "".join(f"&{key}={value}" for key, value in more.items())
    page.goto(f"{app_url}/weight_clustering?{SMALL}{extra}")
    expect(page.locator(CHARTS).first).to_be_visible()
    expect(page.locator(".headline").first).to_be_visible()


def test_a_click_on_the_map_opens_spectra_and_leads_to_the_other_pages(
    page: Page, app_url: str
) -> None:
    open_study(page, app_url, view="Map")
    expect(page.locator(CHARTS)).to_have_count(1)
    chosen = page.get_by_role("combobox", name="Spectra of")
    point = page.locator(f"{CHARTS} path[aria-label*='Model: parse-0;']").first
    point.click(force=True)
    expect(page.locator(CHARTS)).to_have_count(8)  # the map, a strip of legend, six spectra
    expect(page.get_by_text("parse-0", exact=True).first).to_be_visible()
    expect(chosen).to_have_value(re.compile("parse-0|"))
    link = page.get_by_role("link", name="Compare its layers (RSA)")
    expect(link).to_have_attribute("href", re.compile("compare=zoo%3Aparse-0"))
    link.click()
    expect(
        page.get_by_role("heading", name="Which layers does fine-tuning change?")
    ).to_be_visible()
    assert "compare=zoo" in page.url
    assert "parse-0" in page.url


@pytest.mark.exhaustive
def test_the_slider_reads_ranks_at_another_threshold(page: Page, app_url: str) -> None:
    open_study(page, app_url, view="Rank+by+depth")
    charts = page.locator(CHARTS)
    expect(charts).to_have_count(7)  # a strip of legend, six families
    expect(charts.nth(1)).to_contain_text("Rank, 90 % of energy")
    page.get_by_role("button", name="Measure").click()
    slider = page.get_by_role("slider", name="Energy threshold, %")
    slider.focus()
    slider.press("End")
    expect(charts.nth(1)).to_contain_text("Rank, 99.9 % of energy")
    page.get_by_role("radio", name="Stable rank").or_(
        page.get_by_role("button", name="Stable rank")
    ).first.click()
    expect(charts.nth(1)).to_contain_text("Stable rank")


@pytest.mark.exhaustive
def test_neighbours_as_csv_and_another_vector_by_link(page: Page, app_url: str) -> None:
    open_study(page, app_url, view="Neighbours", vector="spectrum")
    expect(page.locator(".headline").first).to_contain_text("spectrum")
    with page.expect_download() as started:
        export(page, "CSV")
    rows = list(csv.DictReader(io.StringIO(started.value.path().read_text(encoding="utf8"))))
    assert list(rows[0]) == ["k", "share", "chance", "p_value"]
    headline, link = page.locator(".headline").first.inner_text(), page.url
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".headline").first).to_have_text(headline, use_inner_text=True)


@pytest.mark.exhaustive
def test_no_view_scrolls_sideways_on_a_telephone(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    page.emulate_media(color_scheme="dark")
    open_study(page, app_url)
    views = page.get_by_role("radiogroup", name="View").get_by_role("radio")
    names = views.all_inner_texts()
    assert {"Vote", "Map", "Neighbours", "Distances"} <= {*names}
    for number in range(len(names)):
        choose(views.nth(number), page)
        page.wait_for_timeout(500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 420, names[number]
    page.set_viewport_size({"width": 1280, "height": 900})
