"""Pages without a store: they compute without remembering, and say so."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import ui.frame.shell
from core.runs.store import default_store
from tests.pages.conftest import open_page, sentences

NOT_KEPT = "Results are shown but not kept"
pytestmark = pytest.mark.filterwarnings("ignore::core.runs.store.StoreWarning")


@pytest.mark.parametrize("mode", ["local", "shared"])
@pytest.mark.parametrize("trouble", ["replaced", "in the way", "senseless size"])
def test_a_page_without_a_store_is_drawn_and_says_so(
    trouble: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "store"
    monkeypatch.setenv("PALIMPSEST_MODE", mode)
    monkeypatch.setenv("PALIMPSEST_STORE", str(folder))
    if trouble == "senseless size":
        monkeypatch.setenv("PALIMPSEST_STORE_BYTES", "abc")
    elif trouble == "replaced":
        default_store().put("key", {"x": 1})
        shutil.rmtree(folder)
        folder.write_text("something else")
    else:
        folder.write_text("something else")
    app = open_page("pages/home.py")
    assert not app.exception
    assert len(app.title) == 1
    assert NOT_KEPT in sentences(app)
    (help_text,) = [caption.help for caption in app.caption if NOT_KEPT in caption.value]
    assert (tmp_path.name in help_text.replace("\\", "")) == (
        mode == "local" and trouble != "senseless size"
    )
    if trouble == "senseless size":
        monkeypatch.delenv("PALIMPSEST_STORE_BYTES")
    else:
        folder.unlink()
    app.run()
    assert NOT_KEPT not in sentences(app)
    assert "Store: " in sentences(app)


@pytest.mark.parametrize("mode", ["local", "shared"])
def test_a_page_whose_sidebar_fails_still_has_its_page(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> str:
        raise ZeroDivisionError("no device")

    monkeypatch.setenv("PALIMPSEST_MODE", mode)
    monkeypatch.setattr(ui.frame.shell, "device_name", fail)
    app = open_page("pages/home.py")
    assert len(app.title) == 1
    assert len(app.exception) == (mode == "local")
    assert len(app.error) == (mode == "shared")
