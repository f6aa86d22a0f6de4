"""Every page of the app runs, raises nothing, and looks like the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import ROOT, SMALL, open_page, sentences
from ui.frame.shell import PAGES

SETTINGS: dict[str, dict[str, str | list[str]]] = {
    "pages/home.py": {},
    "pages/seed_alignment.py": {"sentences": "60", "layers": "6", "methods": ["identity", "ridge"]},
    "pages/weight_clustering.py": {
        "models": [f"zoo:{task}-{run}" for task in ("parse", "nli") for run in (0, 1)]
    },
}


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.title)
@pytest.mark.usefixtures("box", "precomputed_results")
def test_every_page_runs(entry) -> None:
    app = open_page(entry.path, **SETTINGS.get(entry.path, SMALL))
    assert not app.exception
    assert len(app.title) == 1


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.title)
def test_every_page_runs_without_a_box(
    entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    app = open_page(entry.path)
    assert not app.exception
    assert len(app.title) == 1


def test_every_file_of_pages_is_registered() -> None:
    assert {entry.path for entry in PAGES} == {
        f"pages/{path.name}" for path in (ROOT / "pages").glob("[!_]*.py")
    }


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.title)
def test_pages_are_short_and_hold_no_arithmetic(entry) -> None:
    text = (ROOT / entry.path).read_text(encoding="utf8")
    assert text.count("\n") <= 125
    assert not any(
        f"import {name}" in text for name in ("numpy", "torch", "scipy", "sklearn", "transformers")
    )


def test_a_link_to_a_page_on_a_fresh_server_gets_the_frame() -> None:
    """Until app.py has run, streamlit takes pages/ for an old-style app and would run the page
    alone."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.switch_page("pages/home.py")
    app.run()
    assert not app.exception
    assert len(app.title) == 1
    assert "mode" in sentences(app)


@pytest.mark.usefixtures("box", "precomputed_results")
def test_the_home_page_says_what_is_in_the_box() -> None:
    app = open_page("pages/home.py")
    assert "zoo:seed-0" in " ".join(app.table[0].value["models"])
    assert "Local mode" in sentences(app)
    assert app.get("vega_lite_chart")  # how many, tests/pages/test_box.py says


def test_the_sidebar_knows_the_shared_mode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    monkeypatch.setenv("PALIMPSEST_ZOO", str(tmp_path))
    app = open_page("pages/home.py")
    assert "Shared mode" in sentences(app)
    assert "Local mode" not in sentences(app)
