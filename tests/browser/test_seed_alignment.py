"""The seed-alignment page in a real browser: every view draws, at a desk's and a telephone's width,
and none is cut."""

from __future__ import annotations

from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import BrowserContext

from core.catalogue import STUDIES
from core.studies.alignment.seeds.study import STUDY
from tests.core.studies.alignment.conftest import WORDS, save_classifier

SPACE, TRAINING = (STUDY.words.view(key).name for key in ("space", "training"))
CHART = "[data-testid=stVegaLiteChart] .marks"  # what Vega draws; its menu of its own is hidden
VIEWS = tuple(view.name for view in STUDY.views if view.name != TRAINING)
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(app_url: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A link to the page with two tiny models that lacks only its view."""
    folder = tmp_path_factory.mktemp("alignment-browser")
    models = [save_classifier(folder / f"model-{seed}", seed) for seed in (0, 1)]
    rng = np.random.default_rng(0)
    text = folder / "text.txt"
    text.write_text("\n".join(" ".join(rng.choice(WORDS, size=6)) for _ in range(80)))
    query = {
        "models": models,
        "corpus": str(text),
        "sentences": 80,
        "split": "sentence",
        "methods": ["procrustes", "ridge", "kernel", "static-window"],
    }
    return f"{app_url}/seed_alignment?{urlencode(query, doseq=True)}"


@pytest.mark.exhaustive
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark")])
def test_every_view_is_drawn_and_fits(
    chromium: BrowserContext, address: str, width: int, scheme: str
) -> None:
    page = chromium.new_page()
    page.set_viewport_size({"width": width, "height": 1000})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for view in VIEWS:
        page.goto(f"{address}&{urlencode({'view': view})}")
        page.wait_for_selector(CHART, timeout=180_000)
        wanted = 2 if view == SPACE else 1
        page.wait_for_function(
            f"document.querySelectorAll('{CHART}').length >= {wanted}", timeout=60_000
        )
        box = page.locator(CHART).first.bounding_box()
        assert box is not None
        assert box["height"] >= 230, view  # a legend below has not taken the plot's room
        assert box["x"] + box["width"] <= width
        assert (
            page.evaluate("document.documentElement.scrollWidth") <= width
        )  # never scrolls sideways
    page.close()
    assert errors == []


def test_the_published_protocol_stands_beside_ours(chromium: BrowserContext, app_url: str) -> None:
    """As it came with the box: nobody waits for networks here."""
    page = chromium.new_page()
    page.set_viewport_size({"width": 420, "height": 1000})
    page.goto(f"{app_url}/seed_alignment?{urlencode({'view': STUDIES['align protocol'].title})}")
    page.wait_for_function(f"document.querySelectorAll('{CHART}').length >= 2", timeout=60_000)
    assert "the published protocol" in page.inner_text("body")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.close()
