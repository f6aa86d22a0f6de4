"""What is pointed at stands out in every panel, and nothing runs for it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

CHART = "[data-testid=stVegaLiteChart]"

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def opacity(mark: Locator) -> float:
    return float(mark.evaluate("node => getComputedStyle(node).opacity"))


def mark_of(chart: Locator, model: str, layer: int) -> Locator:
    return chart.locator(f"path[aria-label*='Model: {model};'][aria-label*='Layer: {layer};']").last


def name_of(chart: Locator, text: str) -> Locator:
    """The name beside a line; a line of a longer name is another's."""
    return chart.locator(f"text[aria-label$='text: {text}']")


def test_a_model_that_is_pointed_at_stands_out_in_both_panels(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/probe_trees?rivals=true")
    charts = page.locator(f"{CHART} svg")
    expect(charts).to_have_count(2)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    mark_of(charts.first, "parse-0", 3).hover(force=True)
    other = name_of(charts.nth(1), "untrained seed-0")
    page.wait_for_function(
        "node => Number(getComputedStyle(node).opacity) < 0.3", arg=other.element_handle()
    )
    for chart in charts.all():
        assert opacity(mark_of(chart, "parse-0", 2)) == 1
        assert opacity(mark_of(chart, "untrained seed-0", 2)) < 0.3
        assert opacity(name_of(chart, "parse-0")) == 1
    assert opacity(charts.first.get_by_text("parse-0, control", exact=True)) == 1
    page.get_by_role("heading", name="Is syntax still in the fine-tuned model?").hover()
    page.wait_for_function(
        "node => getComputedStyle(node).opacity === '1'", arg=other.element_handle()
    )
    # The name beside a line does it too, and a click still opens the layer.
    name_of(charts.nth(1), "untrained seed-0").hover(force=True)
    page.wait_for_function(
        "node => Number(getComputedStyle(node).opacity) < 0.3",
        arg=mark_of(charts.first, "parse-0", 3).element_handle(),
    )
    mark_of(charts.first, "parse-0", 3).click(force=True)
    expect(page.get_by_role("slider", name="Layer")).to_have_attribute("aria-valuetext", "3")


@pytest.mark.exhaustive
def test_a_click_on_a_rank_or_on_a_cell_of_layers_opens_that_layer(
    page: Page, app_url: str
) -> None:
    page.goto(f"{app_url}/weight_clustering?view=Rank+by+depth")
    expect(page.locator(CHART)).to_have_count(7)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    point = (
        page.locator(CHART)
        .nth(1)
        .locator("path[aria-label*='Model: '][aria-label*='Layer: 6;']")
        .last
    )  # on top
    model = (point.get_attribute("aria-label") or "").partition("Model: ")[2].partition(";")[0]
    point.click(force=True)
    expect(page.get_by_role("combobox", name="Layer")).to_have_value("layer 6")
    expect(page.get_by_role("combobox", name="Spectra of")).to_have_value(model)
    assert "layer=6" in page.url
    page.goto(f"{app_url}/seed_alignment?view=Layer+into+layer")
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    page.locator(
        f"{CHART} path[aria-label*='Layer of seed-0: 1;'][aria-label*='Layer of seed-1: 4;']"
    ).first.click(force=True)
    expect(page.get_by_role("slider", name="Layer")).to_have_attribute("aria-valuetext", "4")
    assert "view=The+space" in page.url
    assert "layer=4" in page.url


@pytest.mark.exhaustive
def test_a_click_on_a_name_switches_its_line_off_in_every_panel_and_on_again(
    page: Page, app_url: str
) -> None:
    page.goto(f"{app_url}/probe_trees")
    charts = page.locator(f"{CHART} svg")
    expect(charts).to_have_count(2)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    name = name_of(charts.first, "parse-0")
    marks = [mark_of(chart, "parse-0", 3) for chart in charts.all()]
    name.click(force=True)
    for mark in marks:
        expect(mark).to_have_css("visibility", "hidden")
    expect(name).to_have_css("text-decoration-line", "line-through")
    expect(mark_of(charts.first, "seed-0", 3)).to_have_css("visibility", "visible")
    assert "layer" not in page.url  # no point was clicked
    page.set_viewport_size({"width": 1100, "height": 900})  # the chart is drawn again
    for mark in marks:
        expect(mark).to_have_css("visibility", "hidden")
    name.click(force=True)
    for mark in marks:
        expect(mark).to_have_css("visibility", "visible")


@pytest.mark.exhaustive
def test_arrow_keys_go_along_a_line_and_from_line_to_line(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/probe_trees")
    chart = page.locator(f"{CHART} svg[tabindex='0']").first
    expect(chart).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    chart.focus()
    said = page.locator(".point-said")
    expect(said).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(said).to_be_visible()
    expect(said).to_have_attribute("role", "status")
    expect(said).to_contain_text("Layer: 0,")
    line = said.inner_text().partition("Model: ")[2].partition(",")[0]
    assert line
    for layer in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        expect(said).to_contain_text(f"Layer: {layer},")
        expect(said).to_contain_text(f"Model: {line},")
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("Layer: 2,")
    page.keyboard.press("ArrowUp")
    if f"Model: {line}," in said.inner_text():  # it was the highest
        page.keyboard.press("ArrowDown")
    expect(said).to_contain_text("Layer: 2,")
    expect(said).not_to_contain_text(f"Model: {line},")
    page.keyboard.press("Escape")
    expect(said).not_to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("Layer: 1,")
    page.keyboard.press("Enter")  # as a click
    expect(page.get_by_role("slider", name="Layer")).to_have_attribute("aria-valuetext", "1")
    expect(said).not_to_be_visible()


@pytest.mark.exhaustive
def test_the_first_click_after_a_change_of_page_switches_a_line_off(
    page: Page, app_url: str
) -> None:
    page.goto(f"{app_url}/rsa")
    expect(page.locator(f"{CHART} svg").first).to_be_visible()
    page.get_by_test_id("stSidebarNav").get_by_text("Probe trees", exact=True).click()
    page.wait_for_url("**/probe_trees*")
    charts = page.locator(f"{CHART} svg")
    name = name_of(charts.first, "parse-0")
    mark = mark_of(charts.first, "parse-0", 3)
    expect(mark).to_be_attached()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    name.click(force=True)
    expect(mark).to_have_css("visibility", "hidden")
