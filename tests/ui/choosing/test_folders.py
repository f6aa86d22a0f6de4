"""The dialog that puts a folder into the form: opens folders, fills a field, is not there when
shared."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

pytestmark = pytest.mark.usefixtures("small_box")


def page() -> None:
    from tests.ui.forms import models_form
    from ui.choosing.folders import folder_picker

    with models_form() as form:
        pass
    folder_picker(form)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a checkpoint in `runs/mine`."""
    folder = tmp_path.resolve() / "runs"
    for name in ("config.json", "model.safetensors"):
        (folder / "mine").mkdir(parents=True, exist_ok=True)
        (folder / "mine" / name).touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return folder


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label.startswith(label)).click()
    return app.run()


def opened() -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    app.run()
    return press(app, "Choose a folder")


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def taken(app: AppTest, name: str) -> object:
    return app.session_state[f"rsa/{name}"]


def take(runs: Path, field: str) -> AppTest:
    app = opened()
    assert "Use this folder" not in labels(app)
    press(app, "Choose a folder")
    app.session_state["rsa/folder shown"] = str(runs / "mine")
    press(app, "Choose a folder")
    app.selectbox(key="rsa/field of the folder").set_value(field)
    return press(app, "Use this folder")


@pytest.mark.slow
def test_a_folder_is_opened_and_says_what_it_holds(runs: Path) -> None:
    app = opened()
    assert any(label.startswith("runs") for label in labels(app))
    app.session_state["rsa/folder shown"] = str(runs)
    press(app, "Choose a folder")
    assert any(label.startswith("mine") and "safetensors" in label for label in labels(app))
    assert any(label == "Up" for label in labels(app))
    assert "Use this folder" not in labels(app)


@pytest.mark.slow
def test_a_folder_goes_into_a_field_of_one_model(runs: Path) -> None:
    app = take(runs, "base")
    assert not app.exception
    assert taken(app, "base") == f"path:{runs / 'mine'}"


@pytest.mark.slow
def test_a_folder_is_added_to_a_field_of_several(runs: Path) -> None:
    app = take(runs, "compare")
    assert not app.exception
    chosen = taken(app, "compare")
    assert isinstance(chosen, list)
    assert chosen[-1] == f"path:{runs / 'mine'}"
    assert len(chosen) > 1


def test_a_full_field_says_so_and_stays(runs: Path) -> None:
    app = opened()
    full = [f"random:hub:model-{number}" for number in range(60)]
    app.session_state["rsa/compare"] = full
    app.session_state["rsa/folder shown"] = str(runs / "mine")
    press(app, "Choose a folder")
    app.selectbox(key="rsa/field of the folder").set_value("compare")
    press(app, "Use this folder")
    assert taken(app, "compare") == full
    assert "61" in app.session_state["rsa/folder refused"]


@pytest.mark.slow
@pytest.mark.parametrize("written", ["{}", "path:{}", ' "{}" ', "~/../elsewhere/.hidden/mine"])
def test_a_typed_path_opens_any_folder(
    runs: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    written: str,
) -> None:
    """Outside of the working folder and of home, and hidden."""
    outside = tmp_path_factory.mktemp("outside").resolve()
    monkeypatch.setenv("HOME", str(outside / "home"))
    folder = outside / "elsewhere" / ".hidden" / "mine"
    folder.mkdir(parents=True)
    (outside / "home").mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).touch()
    app = opened()
    app.text_input(key="rsa/folder typed").set_value(written.format(folder)).run()
    press(app, "Choose a folder")
    assert not app.exception
    assert not app.error
    app.selectbox(key="rsa/field of the folder").set_value("base")
    press(app, "Use this folder")
    assert taken(app, "base") == f"path:{folder}"


@pytest.mark.parametrize("written", ["/no/such/folder", "~nobody-here/x", "a\0b", "x" * 5000])
def test_a_typed_path_that_is_no_folder_is_a_sentence(runs: Path, written: str) -> None:
    app = opened()
    app.text_input(key="rsa/folder typed").set_value(written).run()
    press(app, "Choose a folder")
    assert not app.exception
    assert "cannot be listed" in app.error[0].value


def test_a_folder_that_is_gone_is_a_sentence(runs: Path) -> None:
    app = opened()
    app.session_state["rsa/folder shown"] = str(runs / "gone")
    press(app, "Choose a folder")
    assert not app.exception
    assert "cannot be listed" in app.error[0].value
    assert "Working folder" in labels(app)


def test_a_shared_instance_has_no_such_button(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PALIMPSEST_MODE", "shared")
    app = AppTest.from_function(page, default_timeout=30)
    app.run()
    assert not app.exception
    assert "Choose a folder" not in labels(app)
