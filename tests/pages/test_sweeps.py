"""The home page's section on sweeps: their state as it is written, and nothing of it on a shared
instance."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.limits import MODE
from core.sweep.folder import FINISHED, Failure, State, latest_sweeps, open_folder, write_state
from tests.pages.conftest import sentences

SECTION = """
from ui.home.sweeps import show_sweeps
show_sweeps()
"""
STATE = State(
    "measures",
    ("rsa", "weights"),
    12,
    finished=("a", "b", "c"),
    running=("rsa: seed 1", "rsa: measure *cka*"),
    failures=(Failure("d", "rsa: compare zoo:none", "There is no model _none_; choose another."),),
    remaining=200.0,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    open_folder(tmp_path / "out", "study: rsa")
    write_state(tmp_path / "out", STATE)
    return tmp_path / "out"


def drawn() -> AppTest:
    app = AppTest.from_string(SECTION, default_timeout=60).run()
    assert not app.exception
    return app


def words(app: AppTest) -> str:
    progress = " ".join(each.proto.text for each in app.get("progress"))
    return f"{sentences(app)} {progress}".replace("\\", "")


def test_a_running_sweep_says_what_runs_what_failed_and_what_is_left(folder: Path) -> None:
    app = drawn()
    said = words(app)
    assert "3 of 12 cells are finished, 1 failed, 2 are running; about 3 minutes left." in said
    assert "rsa: seed 1; rsa: measure *cka*" in said
    assert "There is no model _none_; choose another." in said
    assert str(folder) in said
    assert app.get("progress")[0].proto.value == 33
    write_state(folder, replace(STATE, status=FINISHED, running=(), remaining=0.0))
    assert "1 failed." in words(drawn())


def test_one_that_fell_silent_says_how_it_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time() + 300
    monkeypatch.setattr("core.sweep.folder.time.time", lambda: now)
    assert "The sweep was broken off; the same command resumes it." in words(drawn())


def test_folders_that_are_gone_or_damaged_are_left_out(folder: Path, tmp_path: Path) -> None:
    open_folder(tmp_path / "later", "study: rsa")
    assert list(latest_sweeps()) == [folder]
    write_state(tmp_path / "later", STATE)
    assert list(latest_sweeps()) == [tmp_path / "later", folder]
    (folder / "sweep.json").write_text("{")
    assert list(latest_sweeps()) == [tmp_path / "later"]
    (tmp_path / "store" / "sweeps.json").write_text("7")
    assert latest_sweeps() == {}
    assert words(drawn()).strip() == ""


def test_a_shared_instance_shows_nobody_s_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert latest_sweeps()
    monkeypatch.setenv(MODE, "shared")
    assert latest_sweeps() == {}
    assert words(drawn()).strip() == ""
