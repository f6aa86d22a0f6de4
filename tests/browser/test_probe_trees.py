"""The probe page in a real browser: arcs are drawn, a wide sentence scrolls, nothing else does."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from playwright.sync_api import BrowserContext

from tests.core.studies.probes.trees.test_study import write_trees
from tests.core.tiny_models import save_tiny

CHART = "[data-testid=stVegaLiteChart] .marks"  # what Vega draws; its menu of its own is hidden
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(app_url: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The link of the sentence view, on a tiny model and made-up trees."""
    folder = tmp_path_factory.mktemp("probe-browser")
    model, trees = save_tiny(folder / "bert", "bert"), write_trees(folder / "trees.conllu")
    query = {
        "models": f"path:{model}",
        "corpus": str(trees),
        "sentences": 130,
        "rank": 8,
        "epochs": 1,
        "draws": 20,
    }
    query |= {"seeds": 1, "controls": 0, "untrained": "false", "view": "Sentence"}
    return f"{app_url}/probe_trees?{urlencode(query)}"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark")])
def test_a_sentence_is_drawn_at_every_width(
    chromium: BrowserContext, address: str, width: int, scheme: str
) -> None:
    page = chromium.new_page()
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.wait_for_selector(CHART, timeout=180_000)
    page.wait_for_function(f"document.querySelectorAll('{CHART}').length >= 4", timeout=60_000)
    arcs = page.locator(".st-key-arcs")
    wide = page.evaluate("document.documentElement.scrollWidth")
    inner = arcs.locator(".marks").first.bounding_box()
    assert wide <= width  # the page itself never scrolls sideways
    assert inner is not None
    if width == 420:
        scrolls = arcs.evaluate(
            "box => [box, ...box.querySelectorAll('*')].some("
            "e => e.scrollWidth > e.clientWidth + 20 && ['auto', "
            "'scroll'].includes(getComputedStyle(e).overflowX))"
        )
        assert inner["width"] < width or scrolls  # words are reached by scrolling, not cut off
    page.close()
    assert errors == []
