"""Maps in a real browser: moved with a mouse, zoomed with a key held down, no obstacle to scrolling,
and their points follow the slider of the layer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from core.results.drawing.maps import STAGE_BOX

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHART = "[data-testid=stVegaLiteChart]"
TOP = "document.querySelector('[data-testid=stMain]').scrollTop"
HIDDEN = "nodes => nodes.filter(node => getComputedStyle(node).opacity === '0').length"


def place(chart: Locator, label: str) -> tuple[float, float]:
    """Where a point lies in the window."""
    box = chart.locator(f"path[aria-label*='{label}']").first.bounding_box()
    assert box is not None
    return box["x"], box["y"]


def inside(chart: Locator, label: str) -> tuple[float, float]:
    """Where a point lies in its chart, read at one moment: the page may still scroll."""
    corner = "node => (box => [box.x, box.y])(node.getBoundingClientRect())"
    point = f"node => {{ const at = {corner}; "
    point += (
        f"const mark = at(node.querySelector(\"path[aria-label*='{label}']\")), own = at(node); "
    )
    point += "return [mark[0] - own[0], mark[1] - own[1]]; }"
    x, y = chart.evaluate(point)
    return float(x), float(y)


def at_rest(chart: Locator, label: str) -> tuple[float, float]:
    """Where a point lies in its chart, once two looks see the same: Vega draws twice."""
    seen = inside(chart, label)
    for _ in range(40):
        chart.page.wait_for_timeout(250)
        before, seen = seen, inside(chart, label)
        if seen == before:
            break
    return seen


def gap(chart: Locator, first: str, second: str) -> float:
    (x, y), (other_x, other_y) = place(chart, first), place(chart, second)
    return float(((x - other_x) ** 2 + (y - other_y) ** 2) ** 0.5)


def moved_map(page: Page, address: str) -> Locator:
    """The first chart of a page whose script has ended, with the mouse in its middle."""
    page.goto(address)
    chart = page.locator(CHART).first
    expect(chart.locator("svg")).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    box = chart.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 150)
    return chart


def test_the_map_zooms_with_a_key_moves_with_a_mouse_and_keeps_its_place_on_a_click(
    page: Page, app_url: str
) -> None:
    page.set_viewport_size({"width": 1280, "height": 700})  # the page has to scroll
    chart = moved_map(page, f"{app_url}/weight_clustering?view=Map")
    ends = "Model: nli-0;", "Model: question-0;"
    before = gap(chart, *ends)
    page.mouse.wheel(0, 150)
    page.wait_for_function(f"{TOP} > 100")
    assert gap(chart, *ends) == pytest.approx(before, abs=0.5)
    page.mouse.wheel(0, -150)
    page.wait_for_function(f"{TOP} === 0")
    hidden = chart.locator("text[aria-label*='name: ']").evaluate_all(HIDDEN)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    page.wait_for_timeout(500)
    near = gap(chart, *ends)
    assert near > 1.3 * before
    assert page.evaluate(TOP) == 0
    at = place(chart, ends[0])
    box = chart.bounding_box()
    assert box is not None
    start = box["x"] + 0.6 * box["width"], box["y"] + 100
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + 40, start[1] - 30, steps=4)
    page.mouse.up()
    page.wait_for_timeout(300)
    now = place(chart, ends[0])
    assert (now[0] - at[0], now[1] - at[1]) == pytest.approx((40, -30), abs=1)
    chart.locator("path[aria-label*='Model: nli-1;']").first.click(force=True)
    expect(page.get_by_role("combobox", name="Spectra of")).to_have_value("nli-1")
    assert place(chart, ends[0]) == pytest.approx(now, abs=1)
    page.mouse.move(*start)
    for _ in range(6):
        page.keyboard.down("Control")
        page.mouse.wheel(0, -100)
        page.keyboard.up("Control")
    page.wait_for_timeout(300)
    assert chart.locator("text[aria-label*='name: ']").evaluate_all(HIDDEN) < hidden
    page.mouse.dblclick(*start)
    page.wait_for_timeout(500)
    assert gap(chart, *ends) == pytest.approx(before, abs=0.5)
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.exhaustive
def test_a_finger_on_the_map_scrolls_the_page(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 420, "height": 800})
    chart = moved_map(page, f"{app_url}/rsa?view=Token+map")
    word = "Word: kitchen"
    at = inside(chart, word)
    before, session = page.evaluate(TOP), page.context.new_cdp_session(page)
    session.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    touch = "Input.dispatchTouchEvent"
    session.send(touch, {"type": "touchStart", "touchPoints": [{"x": 200, "y": 700}]})
    for step in range(1, 11):
        point = {"x": 200, "y": 700 - 15 * step}
        session.send(touch, {"type": "touchMove", "touchPoints": [point]})
        page.wait_for_timeout(30)
    session.send(touch, {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function(f"{TOP} > {before + 80}")
    page.wait_for_timeout(500)
    assert inside(chart, word) == pytest.approx(at, abs=1)  # the map moved with the page only
    page.set_viewport_size({"width": 1280, "height": 900})


WATCHED = f"""() => {{
    const box = document.querySelector('#{STAGE_BOX}');
    window.stages = [];
    box.addEventListener('input', () => window.stages.push(Number(box.value)));
    for (const svg of document.querySelectorAll("{CHART} svg")) svg.dataset.drawn = "once";
}}"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_words_follow_the_slider_evenly_or_at_once_and_no_map_is_drawn_again(
    page: Page, app_url: str, motion: str
) -> None:
    page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
    chart = moved_map(page, f"{app_url}/rsa?view=Token+map&layer=4")
    expect(page.get_by_text("qa-0, layer 4").first).to_be_visible()
    word = "Word: kitchen"
    before = at_rest(chart, word)
    page.evaluate(WATCHED)
    page.get_by_role("slider", name="Layer").press("ArrowLeft")
    page.wait_for_function("() => window.stages.at(-1) === 3")
    between = page.evaluate("() => window.stages")
    if motion == "reduce":
        assert between == [3]
    else:
        assert len(between) > 4
        assert all(4 >= earlier >= later >= 3 for earlier, later in pairwise(between))
        assert any(3.1 < stage < 3.9 for stage in between)
    expect(page.get_by_text("qa-0, layer 3").first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    assert "layer=3" in page.url
    after = at_rest(chart, word)
    assert after != pytest.approx(before, abs=1)
    assert page.locator(f"{CHART} svg[data-drawn=once]").count() == 2  # the nodes of the beginning
    page.reload()  # the link has them where the slider left them
    expect(page.get_by_text("qa-0, layer 3").first).to_be_visible()
    expect(chart.locator("svg")).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    assert at_rest(chart, word) == pytest.approx(after, abs=0.5)
    page.emulate_media(reduced_motion="reduce")


@pytest.mark.exhaustive
def test_a_word_clicked_at_a_lower_layer_stays_there(page: Page, app_url: str) -> None:
    """The click draws the maps again, with a ring."""
    chart = moved_map(page, f"{app_url}/rsa?view=Token+map&layer=1")
    before = at_rest(chart, "Word: letter")
    chart.locator("path[aria-label*='Word: kitchen']").first.click(force=True)
    expect(page.get_by_role("region", name="Words nearest to kitchen")).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    assert at_rest(chart, "Word: letter") == pytest.approx(before, abs=0.5)


@pytest.mark.exhaustive
def test_maps_beside_each_other_are_turned_together_with_the_keyboard(
    page: Page, app_url: str
) -> None:
    chart = moved_map(page, f"{app_url}/rsa?view=Token+map")
    other, word = page.locator(CHART).nth(1), "Word: captain"
    before = at_rest(chart, word), at_rest(other, word)
    first, second = page.get_by_role("slider", name="Turn").all()
    first.press("End")
    expect(second).to_have_value("90")
    after = at_rest(chart, word), at_rest(other, word)
    for (x, y), (x_after, y_after) in zip(before, after, strict=True):
        assert x_after != pytest.approx(x, abs=3)
        assert y_after == pytest.approx(y, abs=3)  # its size has changed
    second.press("Home")
    expect(first).to_have_value("-90")
    for _ in range(18):
        second.press("ArrowRight")
    assert at_rest(chart, word) == pytest.approx(before[0], abs=0.5)
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    assert "turn" not in page.url
