"""What the reader's own browser keeps: that the guide was shown, and studies saved under a name."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FloatRect, Page, expect

from tests.browser.conftest import FIRST_VISIT
from tests.browser.test_layout import settle
from tests.cases import exhaustive
from ui.browser.scripts import KEY, STEPS

pytestmark = [pytest.mark.browser, pytest.mark.slow]
READ = ("h1", "h2.headline", ".st-key-views")  # question, finding, and the views to choose from
CHART = "[data-testid=stVegaLiteChart] svg"
FORGET = f"""if (location.protocol.startsWith("http") && !sessionStorage.getItem("{FIRST_VISIT}")) {{
    localStorage.removeItem("{KEY}");
    sessionStorage.setItem("{FIRST_VISIT}", "yes");
}}"""


def _overlap(first: FloatRect, second: FloatRect) -> bool:
    """Whether two boxes have an area in common."""
    return all(
        first[side] < second[side] + second[size] and second[side] < first[side] + first[size]
        for side, size in (("x", "width"), ("y", "height"))
    )


@pytest.mark.parametrize("width", exhaustive([1280, 420], 1280))
def test_the_first_figure_is_explained_once(page: Page, app_url: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.add_init_script(FORGET)
    page.goto(f"{app_url}/rsa")
    guide = page.locator(".guide")
    answer = READ if width < 640 else (*READ, CHART)  # a telephone's screen may be all figure
    for number, (target, sentence) in enumerate(STEPS, start=1):
        expect(guide).to_contain_text(sentence)
        expect(guide).to_contain_text(f"{number} of {len(STEPS)}")
        box = guide.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= 800
        over = page.get_by_test_id("stHeader").bounding_box()  # whatever lies under it is hidden
        assert over is not None
        assert box["y"] >= over["y"] + over["height"]
        expect(page.locator(".guided")).to_have_count(1)
        expect(page.locator(target).first).to_have_class(re.compile(r"\bguided\b"))
        for name in answer:
            read = page.locator(name).first.bounding_box()
            assert read is not None
            assert not _overlap(box, read), f"step {number} covers {name}"
        guide.get_by_role("button").last.click()
    expect(guide).to_have_count(0)
    expect(page.locator(".guided")).to_have_count(0)
    page.reload()
    expect(page.locator(CHART).first).to_be_visible()
    page.wait_for_timeout(500)
    expect(guide).to_have_count(0)


@pytest.mark.exhaustive
def test_a_view_without_form_and_lines_is_explained_without_them(page: Page, app_url: str) -> None:
    page.add_init_script(FORGET)
    page.goto(f"{app_url}/rsa?view=Benchmark+with+known+answers")
    guide = page.locator(".guide")
    expect(guide).to_contain_text(STEPS[-1][1])
    expect(guide).to_contain_text("1 of 1")
    guide.get_by_role("button", name="Done").click()
    expect(guide).to_have_count(0)


@pytest.mark.exhaustive
def test_a_presentation_is_not_explained_and_escape_ends_the_guide(
    page: Page, app_url: str
) -> None:
    page.add_init_script(FORGET)
    page.goto(f"{app_url}/rsa?present=1")
    expect(page.locator(CHART).first).to_be_visible()
    page.wait_for_timeout(500)
    expect(page.locator(".guide")).to_have_count(0)
    page.goto(f"{app_url}/rsa")  # not shown yet, so that it is due
    expect(page.locator(".guide")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".guide")).to_have_count(0)


@pytest.mark.exhaustive
def test_a_study_is_saved_opened_and_removed(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa?view=Token+map")
    settle(page)
    page.get_by_text("Saved studies").click()
    field = page.get_by_label("Name of this study")
    for name in ("words <b>by</b> layer", "another"):
        field.fill(name)
        page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{app_url}/probe_trees")
    settle(page)
    page.get_by_text("Saved studies").click()
    page.get_by_role("button", name="Remove another").click()
    expect(page.get_by_role("link", name="another")).to_have_count(0)
    page.get_by_role("link", name="words <b>by</b> layer").click()
    page.wait_for_url("**/rsa?view=Token+map")
    page.evaluate("""localStorage.setItem("palimpsest studies",
        JSON.stringify([{name: "x", link: "javascript:alert(1)"}, {name: "y", link: "//evil.org"}]))""")
    page.reload()
    settle(page)
    page.get_by_text("Saved studies").click()
    expect(field).to_be_visible()
    expect(page.get_by_role("link", name="x", exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="y", exact=True)).to_have_count(0)
    page.evaluate('localStorage.removeItem("palimpsest studies")')


@pytest.mark.exhaustive
def test_present_starts_the_presentation(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa")
    settle(page)
    page.get_by_role("button", name="Present").click()
    page.wait_for_url("**/rsa?present=true")
    expect(page.get_by_test_id("stSidebar")).not_to_be_visible()
    expect(page.get_by_role("button", name="Leave")).to_be_visible()  # it listens to the key
    settle(page)
    page.keyboard.press("Escape")
    page.wait_for_url("**/rsa")
