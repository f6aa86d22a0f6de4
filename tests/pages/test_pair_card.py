"""The card of Home: a look at two models, then one report of whatever fits them."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.core.small_zoo import write_zoo
from tests.pages.conftest import sentences, settle

CARD = """
from ui.home.pair_card import show_pair_card
show_pair_card()
"""


@pytest.fixture
def small_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models with weights and without tokenizers."""
    monkeypatch.setenv("PALIMPSEST_ZOO", str(write_zoo(tmp_path / "zoo", runs=1)))
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))


def words(app: AppTest) -> str:
    """Everything that the page says, without the signs that keep text from being markup."""
    return sentences(app).replace("\\", "")


def click(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()
    settle(app)


def test_a_pair_is_looked_at_and_then_reported(small_box: None) -> None:
    app = AppTest.from_string(CARD, default_timeout=120)
    app.session_state["pair/model"] = "zoo:nli-0"
    app.run()
    click(app, "Look at the pair")
    assert "nli-0 may well have been made of seed-0" in words(app)
    assert "Expected: about" in words(app)
    click(app, "Make the report")
    assert not app.exception
    assert "The weights moved by" in words(app)
    assert "similarity was not run" in words(app)
    assert [element.proto.label for element in app.get("download_button")] == ["Report"]


def test_a_model_that_cannot_be_had_is_a_sentence(small_box: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    app = AppTest.from_string(CARD, default_timeout=120)
    app.session_state["pair/model"] = "hub:roberta-base"
    app.run()
    click(app, "Look at the pair")
    assert not app.exception
    assert "roberta-base" in words(app)
    assert not any(button.label == "Make the report" for button in app.button)
