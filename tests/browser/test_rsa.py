"""The RSA page in a real browser: the first figure, another measure, the token map, the table, the
link."""

from __future__ import annotations

import csv
import io

import pytest
from playwright.sync_api import Page, expect

from tests.browser.form import THERE, export, unfold
from tests.cases import exhaustive

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SMALL = "sentences=40&words=100&compare=zoo:parse-0"


def chart_text(page: Page) -> str:
    """Titles and labels: the chart's accessible description and what it draws as text."""
    return page.locator("[data-testid=stVegaLiteChart]").first.inner_text()


def open_study(page: Page, app_url: str, **more: str) -> None:
    """A link straight to a study; it runs without a click."""
    extra = "".join(f"&{key}={value}" for key, value in more.items())
    page.goto(f"{app_url}/rsa?{SMALL}{extra}")
    expect(page.get_by_text(THERE).first).to_be_visible()
    expect(page.locator("[data-testid=stVegaLiteChart]").first).to_be_visible()


@pytest.mark.exhaustive
def test_the_first_link_on_a_fresh_server_has_the_frame_and_a_figure(
    page: Page, app_url: str
) -> None:
    open_study(page, app_url)
    expect(
        page.get_by_role("heading", name="Which layers does fine-tuning change?")
    ).to_be_visible()
    expect(page.get_by_text("Local mode")).to_be_visible()
    expect(page.get_by_role("heading", name="parse-0").first).to_be_visible()


@pytest.mark.exhaustive
def test_run_stays_under_the_pointer_when_the_list_of_models_loses_the_focus(
    page: Page, app_url: str
) -> None:
    """With these names the list's text field is in a row of its own while it has the focus."""
    open_study(page, app_url, compare="zoo:sentiment-0")
    unfold(page)
    field = page.get_by_role("combobox", name="Compared with")
    field.press_sequentially("zoo:parse-frozen-2")
    field.press("Enter")
    field.press("Escape")
    expect(page.get_by_label("zoo:parse-frozen-2", exact=True)).to_be_visible()
    button = page.get_by_role("button", name="Run", exact=True).first
    before = button.bounding_box()
    assert before is not None
    page.mouse.move(before["x"] + before["width"] / 2, before["y"] + before["height"] / 2)
    page.mouse.down()  # the list loses the focus here
    page.wait_for_timeout(300)
    assert button.bounding_box() == before
    page.mouse.up()
    page.wait_for_url("**/*parse-frozen-2*")


@pytest.mark.exhaustive
def test_another_measure_is_another_study_and_its_link_reopens_it(page: Page, app_url: str) -> None:
    open_study(page, app_url)
    unfold(page)
    before = page.locator(".headline").first.inner_text()
    page.get_by_role("combobox", name="Measure").click()
    page.get_by_role("option", name="debiased CKA").click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator(".headline").first).not_to_have_text(before, use_inner_text=True)
    link, headline = page.url, page.locator(".headline").first.inner_text()
    assert "measure=cka-debiased" in link
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".headline").first).to_have_text(headline, use_inner_text=True)
    expect(page.get_by_text(THERE).first).to_be_visible()


@pytest.mark.exhaustive
@pytest.mark.parametrize("word", exhaustive(["kitchen", "when"], "kitchen"))  # highlighted or not
def test_a_clicked_word_lists_its_nearest_words_by_layer(
    page: Page, app_url: str, word: str
) -> None:
    page.goto(f"{app_url}/rsa?view=Token+map")
    chart = page.locator("[data-testid=stVegaLiteChart]").nth(1)
    expect(page.get_by_text("qa-0, layer 6").first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    near = page.get_by_role("region", name=f"Words nearest to {word}")
    expect(near).to_have_count(0)
    chart.locator(f"path[aria-label*='Word: {word}']").first.click(force=True)
    expect(near).to_be_visible()
    expect(near.get_by_role("row")).to_have_count(1 + 7)
    expect(near.get_by_role("columnheader")).to_have_text(["Layer", "seed-0", "qa-0", "Shared"])
    expect(page.locator(".passage mark")).to_contain_text(word)
    assert "word=" in page.url
    page.reload()
    expect(near).to_be_visible()


@pytest.mark.exhaustive
def test_the_table_downloads_as_csv(page: Page, app_url: str) -> None:
    open_study(page, app_url)
    with page.expect_download() as download:
        export(page, "CSV")
    path = download.value.path()
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf8"))))
    assert download.value.suggested_filename == "palimpsest-rsa-by-layer-rsa.csv"
    band = ["similarity", "low", "high", "null_low", "null_high"]
    sizes = ["relative_change", "apart", "scaled", "runs"]
    calibrated = ["calibrated", "calibrated_low", "calibrated_high"]
    assert list(rows[0]) == ["model", "layer", *band, *sizes, *calibrated]
    assert [int(row["layer"]) for row in rows] == list(range(len(rows)))
    assert all(-1 <= float(row["similarity"]) <= 1 for row in rows)


def test_the_report_downloads_with_its_figure(page: Page, app_url: str) -> None:
    open_study(page, app_url)
    export(page, "Report")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save", exact=True).click()
    text = download.value.path().read_text(encoding="utf8")
    assert "data:image/svg+xml" in text
    assert "<script" not in text
    assert "Merchant" in text


@pytest.mark.exhaustive
def test_a_telephone_shows_everything_without_scrolling_sideways(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 420, "height": 900})
    open_study(page, app_url)
    main = page.locator("[data-testid=stMain]")
    assert main.evaluate("node => node.scrollWidth <= node.clientWidth")
