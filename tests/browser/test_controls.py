"""How much a page says and offers at once: controls before anything is opened, words above the fold.
They are counted in each view that `test_layout` walks through.

A control is what one can use or open in the main area, whether enabled or not: a button, a link to
a page, an expander, a field, a slider, a toggle. A row of tabs and a list of choices count once, and
a field with its help, its tags and its arrow is one. What is in a chart or a table, in a sentence (a
term that is explained), or in the sidebar is none. Words are what stands in the main area in the
first 800 pixels, outside of charts (their titles are outside); a number is a word.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHART = "[data-testid=stVegaLiteChart]"
LEAST, MOST_CONTROLS, MOST_WORDS = 5, 9, 150
LEAST_WORDS = 50
FOLD = 800  # pixels
# Views whose figure is moved: a slider, its player, and what is chosen beside them; they have more.
MOVED = {"Token map": 10, "Map of models": 10, "Sentence": 13, "The space": 10}
WORDY = {"Benchmark with known answers": 170}  # four figures, each with its columns in its title
COUNTED = r"""
fold => {
    const main = document.querySelector('[data-testid=stMain]');
    const shown = node => {
        const box = node.getBoundingClientRect();
        return node.checkVisibility({opacityProperty: true, visibilityProperty: true})
            && box.width > 1 && box.height > 1;
    };
    const ends = '[data-testid=stVegaLiteChart], [data-testid=stDataFrame]';
    const whole = '[data-testid=stButtonGroup], [role=radiogroup], [data-testid=stSlider], '
        + '[data-testid=stMultiSelect], [data-testid=stSelectbox], [data-testid=stTextInput], '
        + '[data-testid=stNumberInput], [data-testid=stCheckbox], [data-testid=stSelectSlider]';
    const used = 'button, summary, input, textarea, select, [role=combobox], [role=slider], '
        + '[role=switch], [data-testid=stPageLink] a, [data-testid=stLinkButton] a';
    const controls = new Map();
    for (const node of main.querySelectorAll(used)) {
        const control = node.closest(whole) || node;
        if (!node.closest(ends) && shown(control))
            controls.set(control, control.innerText.trim().replace(/\s+/g, ' '));
    }
    const words = [];
    const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const text = texts.currentNode, holder = text.parentElement;
        if (holder.closest(`style, script, [data-testid=stIconMaterial], ${ends}`)) continue;
        if (!shown(holder)) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        if (range.getBoundingClientRect().top < fold)
            words.push(...text.data.split(/\s+/).filter(word => /[\p{L}\p{N}]/u.test(word)));
    }
    return [[...controls.values()], words];
}
"""


def counted(page: Page) -> tuple[list[str], list[str]]:
    """Controls and words, once two looks see the same: the browser draws after the script has
    ended."""
    seen: list[list[str]] = []
    for _ in range(40):
        looked = page.evaluate(COUNTED, FOLD)
        if looked == seen and len(looked[0]) >= LEAST:
            break
        seen = looked
        page.wait_for_timeout(250)
    return looked[0], looked[1]


def too_much(page: Page, view: str) -> list[str]:
    """What a view that is drawn offers or says beyond its bounds, or lacks: then it is not the one
    that is meant."""
    controls, words = counted(page)
    print(f"{view}: {len(controls)} controls, {len(words)} words")
    wrong = []
    if not LEAST <= len(controls) <= MOVED.get(view, MOST_CONTROLS):
        wrong.append(f"{len(controls)} controls: {controls}")
    if not LEAST_WORDS <= len(words) <= WORDY.get(view, MOST_WORDS):
        wrong.append(f"{len(words)} words: {' '.join(words)}")
    return wrong


def test_the_teachers_page_says_150_words_at_once(page: Page, app_url: str) -> None:
    page.set_viewport_size({"width": 1280, "height": FOLD})
    page.goto(f"{app_url}/teaching")
    expect(page.get_by_role("button", name="Handout to print").first).to_be_visible()
    _, words = counted(page)
    assert LEAST_WORDS <= len(words) <= MOST_WORDS, " ".join(words)


@pytest.mark.exhaustive
def test_all_rivals_are_one_step_away_and_the_link_keeps_them(page: Page, app_url: str) -> None:
    page.goto(f"{app_url}/probe_trees")
    figure = page.locator(CHART).first
    expect(figure).to_contain_text("static window")
    expect(figure).not_to_contain_text("random tree")
    page.get_by_text("Show all rivals", exact=True).click()
    expect(figure).to_contain_text("random tree")
    assert "rivals=true" in page.url
    page.reload()
    expect(figure).to_contain_text("random tree")
