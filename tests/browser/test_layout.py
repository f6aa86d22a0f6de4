"""The figure first: where things stand on every page, at a desk's and a telephone's size, and that
all may read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.form import line, unfold
from tests.browser.screenshots import views
from tests.browser.test_controls import too_much
from tests.browser.test_rsa import SMALL
from tests.cases import exhaustive
from ui.study.forms import MORE

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHART = "[data-testid=stVegaLiteChart]"
PAGES = ("rsa", "probe_trees", "weight_clustering", "seed_alignment")
DESK, TELEPHONE = {"width": 1280, "height": 720}, {"width": 420, "height": 900}
ROW = 60  # height that one row of controls does not reach
STRIP = 70  # height that a legend above several panels does not reach
GRAVE = ("serious", "critical")
WALKS = [(name, scheme) for name in ("", "teaching", *PAGES) for scheme in ("light", "dark")]
WALKED = (("", "dark"), ("teaching", "light"))
COLOUR = ("color-contrast", "link-in-text-block")  # axe's rules that a dark scheme has a part in


def open_study(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa?{SMALL}")
    expect(page.locator(CHART).first).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()


def bottom(page: Page, selector: str) -> float:
    box = page.locator(selector).first.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


@pytest.mark.exhaustive
def test_names_of_columns_do_not_overlap_on_a_telephone(page: Page, app_url: str) -> None:
    page.set_viewport_size(TELEPHONE)  # type: ignore[arg-type]
    page.goto(f"{app_url}/rsa?view=Benchmark+with+known+answers")
    labels = page.locator(f"{CHART} svg").nth(1).locator(".role-axis-label").first.locator("text")
    expect(labels.first).to_have_text("unrounded")
    boxes = [box for label in labels.all() if (box := label.bounding_box())]
    assert len(boxes) > 1
    for box, following in pairwise(boxes):
        assert box["x"] + box["width"] < following["x"]


@pytest.mark.exhaustive
def test_the_table_of_models_is_whole_on_a_telephone(page: Page, app_url: str) -> None:
    page.set_viewport_size(TELEPHONE)  # type: ignore[arg-type]
    page.goto(app_url)
    table = page.locator("[data-testid=stTable] table")
    expect(table).to_be_visible()
    assert table.evaluate("node => node.scrollWidth <= node.parentElement.clientWidth")


@pytest.mark.parametrize(("name", "scheme"), exhaustive(WALKS, *WALKED))
def test_no_view_is_grave_for_axe_or_says_too_much_or_ends_below_the_fold_and_each_is_one_entry(
    page: Page, app_url: str, name: str, scheme: str
) -> None:
    """One walk through the views for all that is asked of each: every view is drawn once a walk."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    page.goto(f"{app_url}/{name}")
    expect(page.locator(".headline" if name in PAGES else "h1")).to_be_visible()
    settle(page)
    page.evaluate(Axe().axe_script)
    whole = name in PAGES and scheme == "light"
    grave, loud, low, made = {}, {}, {}, {}
    assert not whole or bottom(page, ".headline") < DESK["height"] / 2
    before, first = entries(page) if whole else 0, page.url
    for view in views_of(page, several=name in PAGES):
        grave[view] = grave_findings(page, COLOUR if scheme == "dark" else ())
        if whole:
            low[view] = lowest_of_first_row(page)
        if name == "" or whole:
            loud[view] = too_much(page, view)
        if whole:
            made[view] = (entries(page) - before, page.url)
            before += made[view][0]
    assert name not in PAGES or {*grave} == {*views(f"pages/{name}.py")}  # every view was there
    assert not any(grave.values()), "\n".join(
        f"{view}: {one}" for view, found in grave.items() for one in found
    )
    assert not any(loud.values()), loud
    assert {view: end for view, end in low.items() if end > DESK["height"]} == {}
    assert sum(end > 0 for end in low.values()) >= (3 if low else 0)
    if whole:
        assert {count for count, address in made.values() if address != first} == {1}, made
        for _, address in reversed(list(made.values())[:-1]):
            page.go_back()
            expect(page).to_have_url(address)
        settle(page)
        check_on_telephone(page)
    if "Rank by depth" in low:  # its six panels are one figure
        page.goto(made["Rank by depth"][1])
        expect(page.locator(CHART)).to_have_count(7)
        settle(page)
        assert bottom(page, f":nth-match({CHART}, 7)") <= DESK["height"]


def check_on_telephone(page: Page) -> None:
    """The finding stands above the fold, and nothing scrolls sideways."""
    page.set_viewport_size(TELEPHONE)  # type: ignore[arg-type]
    expect(page.locator(".headline")).to_be_visible()
    assert bottom(page, ".headline") < TELEPHONE["height"]
    narrow = "(node => node.scrollWidth <= node.clientWidth)"
    main = "document.querySelector('[data-testid=stMain]')"
    page.wait_for_function(f"() => {narrow}({main})")  # once charts are drawn anew for the width
    page.set_viewport_size(DESK)  # type: ignore[arg-type]
    settle(page)


def test_what_axe_finds_grave_is_seen(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/teaching")
    expect(page.get_by_test_id("stHeading").first).to_be_visible()
    settle(page)
    page.evaluate(Axe().axe_script)
    page.locator("h1").evaluate("node => { node.innerHTML = '<button></button><img src=\"\">'; }")
    assert [one.partition(":")[0] for one in grave_findings(page)] == ["button-name", "image-alt"]


def views_of(page: Page, *, several: bool) -> Iterator[str]:
    """Every view of the page, one after the other, as a reader clicks through them; the name of
    what is shown."""
    if not several:
        yield "the page"
        return
    # by name: a view may have a choice of its own in this row
    views = (
        page.locator(".st-key-views").get_by_role("radiogroup", name="View").get_by_role("radio")
    )
    expect(views.last).to_be_visible()
    more = page.get_by_role("button", name=MORE)
    in_row = views.count()
    more.click()
    beyond = page.get_by_role("menuitem").all_inner_texts()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem")).to_have_count(0)  # it fades, and pale letters are grave
    more.blur()
    page.mouse.move(0, 0)
    expect(page.get_by_role("tooltip")).to_have_count(0)  # as does what the button says of itself
    for number in range(in_row + len(beyond)):
        if number < in_row:
            choose(views.nth(number), page)
        else:
            before = page.url
            more.click()
            page.get_by_role("menuitem", name=beyond[number - in_row], exact=True).click()
            expect(page).not_to_have_url(before)
            expect(page.get_by_role("menuitem")).to_have_count(0)
            settle(page)
            page.mouse.move(0, 0)
        row = page.locator(".st-key-views").bounding_box()
        shown = page.locator(".st-key-views [role=radio][aria-checked=true]").first.inner_text()
        assert row is not None
        assert row["height"] < ROW, shown
        yield shown


def lowest_of_first_row(page: Page) -> float:
    """Where the figure ends, or its first row where it has several; 0 in a view that waits for its
    button."""
    drawn = (
        f"() => [...document.querySelectorAll('{CHART}')].every(chart => "
        f"chart.querySelector('svg.marks'))"
    )
    page.wait_for_function(drawn)
    boxes = [box for chart in page.locator(CHART).all() if (box := chart.bounding_box())]
    figures = [box for box in boxes if box["height"] > STRIP]
    if not figures:
        return 0.0
    first = figures[0]["y"] + figures[0]["height"]
    return max(box["y"] + box["height"] for box in figures if box["y"] < first)


def choose(button: Locator, page: Page) -> None:
    if button.get_attribute("aria-checked") != "true":
        before = page.url
        button.click()
        expect(page).not_to_have_url(before)  # the run that draws the view has begun
    expect(button).to_have_attribute("aria-checked", "true")
    settle(page)
    page.mouse.move(0, 0)


def settle(page: Page) -> None:
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()


def entries(page: Page) -> int:
    """How many entries the tab's history has, once the page has said all that it has to say."""
    page.wait_for_timeout(250)
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    page.wait_for_timeout(250)
    return int(page.evaluate("history.length"))


def grave_findings(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What axe, which is in the page already, finds serious or critical; by these rules alone where
    some are named."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = page.evaluate(
        "options => axe.run(options).then(results => results.violations)", options
    )
    return [
        f"{one['id']}: {[node['html'][:160] for node in one['nodes']]}"
        for one in found
        if one["impact"] in GRAVE
    ]


@pytest.mark.exhaustive
def test_the_form_folds_when_its_button_is_pressed_and_its_options_hold_the_study(
    page: Page, app_url: str
) -> None:
    page.goto(f"{app_url}/rsa?{SMALL}")
    expect(line(page)).to_contain_text("seed-0 against parse-0; RSA; demo, 40 sentences")
    expect(page.locator(CHART).first).to_be_visible()
    run = page.get_by_role("button", name="Run", exact=True)
    expect(run).not_to_be_visible()
    unfold(page)
    page.get_by_text("Options", exact=True).click()
    expect(page.get_by_role("spinbutton", name="Words sampled")).to_have_value("100")
    run.click()
    expect(run).not_to_be_visible()
    expect(page.locator(CHART).first).to_be_visible()


@pytest.mark.exhaustive
def test_the_form_folds_though_it_was_opened_and_its_button_pressed_before_the_server_heard_of_either(
    page: Page, app_url: str
) -> None:
    open_study(page, app_url)
    line(page).evaluate(
        """async node => {
            node.click();  // the browser tells of it after this task: a hand is slower than that
            await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
            [...document.querySelectorAll('button')].find(one => one.innerText.trim().endsWith('Run')).click();
        }"""
    )
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    expect(page.get_by_role("button", name="Run", exact=True)).not_to_be_visible()


@pytest.mark.exhaustive
def test_a_click_on_a_point_opens_the_token_map_at_its_layer(page: Page, app_url: str) -> None:
    open_study(page, app_url)
    page.locator(f"{CHART} svg path[aria-label*='Layer: 3']").first.click(force=True)
    expect(page.get_by_role("slider", name="Layer")).to_have_attribute("aria-valuetext", "3")
    assert "view=Token+map&layer=3" in page.url


@pytest.mark.exhaustive
def test_layers_are_played_to_the_last(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa?{SMALL}&view=Token+map&layer=5")
    settle(page)
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("slider", name="Layer")).to_have_attribute("aria-valuetext", "6")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_a_term_of_the_headline_is_explained_to_the_keyboard(page: Page, app_url: str) -> None:
    open_study(page, app_url)
    term = page.locator(".headline .term").first
    meaning = term.locator(".meaning")
    expect(meaning).not_to_be_visible()
    term.focus()
    expect(meaning).to_be_visible()
    expect(meaning).not_to_be_empty()


@pytest.mark.exhaustive
def test_a_combobox_has_one_ring_round_all_of_it(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/rsa")
    unfold(page)
    field = page.get_by_role("combobox", name="Compared with")
    field.focus()
    page.keyboard.type("p")
    ring = "node => getComputedStyle(node).outlineStyle"
    assert field.evaluate(ring) == "none"
    box = page.locator(".react-aria-ComboBox > div").filter(has=field)
    assert box.evaluate(ring) == "solid"
    outer, tags = (
        box.bounding_box(),
        page.locator(".st-key-rsa-compare [data-tag]").last.bounding_box(),
    )
    assert outer is not None
    assert tags is not None
    assert outer["x"] < tags["x"]  # the ring lies round the chosen models too
    assert outer["x"] + outer["width"] > tags["x"] + tags["width"]
