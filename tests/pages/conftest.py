"""The app under `AppTest`: no browser, the real studies on a handful of sentences."""

from __future__ import annotations

import html
import io
import re
import time
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit as st
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest, app_test

from core.limits import MODE
from core.models import read_manifest
from core.results.export import table_csv
from core.runs.process.remembered import forget_all
from tests import ROOT
from ui.study import downloads, figures, results, run_panel
from ui.study.figures import themed

TIMEOUT = 120  # seconds; a slow machine is no fault of the app
SMALL = {
    "sentences": "20",
    "words": "40",
    "references": "false",
    "compare": "zoo:parse-0",
}


@pytest.fixture(scope="session")
def pages_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages-store")


@pytest.fixture(autouse=True)
def private_store(private_store: Path, pages_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One store for the tests of all pages: what one of them has computed the others read."""
    monkeypatch.setenv("PALIMPSEST_STORE", str(pages_store))
    return pages_store


@pytest.fixture(autouse=True)
def fresh_registry() -> Iterator[None]:
    """No study of one test is known to the next, nor what the process remembers: the next
    test may have a box of its own, with other models of the same names."""
    forget_all()
    st.cache_resource.clear()
    yield
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page waits for its look at the store: nothing here would draw it again afterwards."""
    monkeypatch.setattr(run_panel, "LOOK", TIMEOUT / 2)


@pytest.fixture(autouse=True)
def by_navigation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run goes through app.py, as on a server after its first run.

    AppTest forgets before each run that the app calls st.navigation: the page would run alone
    first, and ask for a second run in which a click is no longer known.
    """
    monkeypatch.setattr(PagesManager, "uses_pages_directory", False)
    monkeypatch.setattr(app_test, "PagesManager", type("Remembering", (PagesManager,), {}))


INSTALLED = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(autouse=True)
def packages_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest reads the metadata of all installed packages for each app that it runs; they stay the
    same."""
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", INSTALLED)


@pytest.fixture(autouse=True)
def on_localhost(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As `make app` starts it; without an address the app would run in shared mode."""
    monkeypatch.setenv(MODE, "")  # so that what the app writes there ends with the test
    address = config.get_option("server.address")
    config.set_option("server.address", "localhost")
    yield
    config.set_option("server.address", address)


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def box() -> None:
    """Skips a test that needs the models of the box where the box has not been made."""
    names = {entry["name"] for entry in read_manifest()}
    if not {"seed-0", "parse-0"} <= names:
        pytest.skip("the box has no models yet: make zoo")


def open_page(path: str, **link: str | list[str]) -> AppTest:
    """The app at a page, as if its link had been opened; studies have ended."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    app.query_params.update(link)
    if path != "pages/home.py":
        app.switch_page(path)
    return settle(app.run())


def settle(app: AppTest, seconds: float = 280) -> AppTest:
    """Rerun when the studies that run have ended, as the browser's clock would, until none does:
    a page that is drawn meanwhile takes its time from them."""
    until = time.monotonic() + seconds
    while any(button.label == "Cancel" for button in app.button):
        running = run_panel.jobs().unfinished()
        for job in running:
            job.ended.wait(until - time.monotonic())
        if not running:
            time.sleep(0.1)
        assert time.monotonic() < until, "the study did not end"
        app.run()
    return app


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Every chart that a page draws from here on, as it is before it has the page's colours."""
    charts: list[object] = []

    def noted(spec: Mapping[str, Any], theme: str, colours: Mapping[str, str]) -> dict[str, Any]:
        charts.append(spec)
        return themed(spec, theme, colours)

    monkeypatch.setattr(figures, "themed", noted)
    return charts


def sentences(app: AppTest) -> str:
    """Everything that the page says."""
    kinds = (app.title, app.header, app.markdown, app.caption, app.error, app.warning, app.info)
    return "\n".join([headline(app), *(str(element.value) for kind in kinds for element in kind)])


def origins(app: AppTest) -> list[str]:
    """Where what is shown comes from, as its row says."""
    starts = (run_panel.PRECOMPUTED, run_panel.STORED, ":material/check: Computed in")
    return [each.value for each in app.caption if str(each.value).startswith(starts)]


def headline(app: AppTest) -> str:
    """The sentence above the figure, without its terms' meanings; "" where there is none yet."""
    bodies = [
        element.proto.body
        for element in app.get("html")
        if 'class="headline"' in element.proto.body
    ]
    bare = re.sub(r"<span class=\"meaning\".*?</span>", "", "".join(bodies))
    return html.unescape(re.sub(r"<[^>]+>", "", bare))


class Everything:
    """What a page shows as tables, and what *Download all* gives."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[pd.DataFrame] = []
        self.zips: list[bytes] = []
        in_words, zip_result = results.in_words, downloads.zip_result

        def shown(table: pd.DataFrame) -> pd.DataFrame:
            self.shown.append(table)
            return in_words(table)

        def zipped(*arguments: Any, **options: Any) -> bytes:
            self.zips.append(zip_result(*arguments, **options))
            return self.zips[-1]

        monkeypatch.setattr(results, "in_words", shown)
        # every table anew, so that each run is seen to show it
        monkeypatch.setattr(results, "made_once", lambda owner, name, make: make())
        monkeypatch.setattr(downloads, "zip_result", zipped)
        monkeypatch.setattr(
            "core.results.bundle.chart_svg", lambda chart: b"<svg>"
        )  # drawing is tested elsewhere
        monkeypatch.setattr("core.results.bundle.chart_png", lambda chart: b"PNG")

    def check(self, app: AppTest) -> dict[str, bytes]:
        """Press *Download all*; the zip, whose files are returned, has every row of every table
        that the page shows."""
        self.shown.clear()
        next(button for button in app.button if button.label == "Download all").click()
        settle(app.run())
        assert not app.exception
        assert [element.proto.label for element in app.get("download_button")][-1] == "Save"
        with zipfile.ZipFile(io.BytesIO(self.zips[-1])) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
        tables = [_rows(content) for name, content in files.items() if name.endswith(".csv")]
        for table in self.shown:
            shown = _rows(table_csv(table))
            assert any(_holds(rows, shown) for rows in tables), list(table.columns)
        assert {
            "result.json",
            "dictionary.csv",
            "references.bib",
            "table.csv",
            "figures/as-shown.svg",
        } <= set(files)
        assert "left-out.txt" not in files
        return files


def _rows(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)


def _holds(table: pd.DataFrame, part: pd.DataFrame) -> bool:
    """Whether every row of the part is one of the table, in the part's columns."""
    columns = list(part.columns)
    return set(columns) <= set(table.columns) and {*map(tuple, part.to_numpy())} <= {
        *map(tuple, table[columns].to_numpy())
    }


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> Everything:
    return Everything(monkeypatch)
