"""The probe page in a real browser: arcs are drawn, a wide sentence scrolls, nothing else does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.core.probes.test_study import write_trees
from tests.core.tiny_models import save_tiny

ROOT = Path(__file__).resolve().parents[2]
CHART = '[data-testid="stVegaLiteChart"] svg, [data-testid="stVegaLiteChart"] canvas'
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own on a tiny model and made-up trees; yields the link of the sentence view."""
    folder = tmp_path_factory.mktemp("probe-browser")
    model, trees = save_tiny(folder / "bert", "bert"), write_trees(folder / "trees.conllu")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        "app.py",
        "--server.port",
        str(port),
        "--server.headless",
        "true",
    ]
    environment = {**os.environ, "PALIMPSEST_STORE": str(folder / "store"), "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen([*command, "--server.fileWatcherType", "none"], cwd=ROOT, env=environment)
    try:
        for _ in range(240):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.5)
        query = {"models": f"path:{model}", "text": str(trees), "sentences": 130, "rank": 8, "epochs": 1, "draws": 20}
        query |= {"controls": "false", "untrained": "false", "view": "Sentence"}
        yield f"http://127.0.0.1:{port}/probe_trees?{urlencode(query)}"
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.parametrize("width", [1280, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_sentence_is_drawn_at_every_width(address: str, width: int, scheme: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"))
        page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)  # type: ignore[arg-type]
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.wait_for_selector(CHART, timeout=180_000)
        page.wait_for_function(f"document.querySelectorAll('{CHART}').length >= 4", timeout=60_000)
        arcs = page.locator(".st-key-arcs")
        wide = page.evaluate("document.documentElement.scrollWidth")
        inner = arcs.locator("svg, canvas").first.bounding_box()
        assert errors == []
        assert wide <= width  # the page itself never scrolls sideways
        assert inner is not None
        if width == 420:
            scrolls = arcs.evaluate(
                "box => [box, ...box.querySelectorAll('*')].some("
                "e => e.scrollWidth > e.clientWidth + 20 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX))"
            )
            assert inner["width"] < width or scrolls  # words are reached by scrolling, not cut off
        browser.close()
