"""The home page's card: a check of two models, then the report of what fits them."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.commands.pair import check_pair, run_pair
from core.commands.pair_page import make_sentences
from tests.core.small_zoo import write_zoo
from tests.pages.conftest import sentences, settle
from ui.home.pair_card import as_typed

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


def test_a_pair_is_checked_and_then_reported(small_box: None) -> None:
    app = AppTest.from_string(CARD, default_timeout=120)
    app.session_state["pair/model"] = "zoo:nli-0"
    app.run()
    click(app, "Check the pair")
    check = check_pair("zoo:seed-0", "zoo:nli-0")
    assert check.related
    assert check.sentence in words(app)
    assert check.cost.sentence in words(app)
    click(app, "Make the report")
    assert not app.exception
    parts = run_pair(check)
    assert " ".join(make_sentences(check, parts)) in words(app)
    assert parts[0].result is None
    assert f"{parts[0].name} was not run: {parts[0].reason}" in words(app)
    assert len(app.get("download_button")) == 1


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ('"/runs/my model"', "path:/runs/my model"),
        ("~/base", "path:~/base"),
        ("./base", "path:./base"),
        (r"C:\runs\base", r"path:C:\runs\base"),
        ("path:/runs/base", "path:/runs/base"),
        ("hub:org/name", "hub:org/name"),
        ("zoo:seed-0", "zoo:seed-0"),
    ],
)
def test_a_folder_needs_no_prefix(text: str, ref: str) -> None:
    assert as_typed(text) == ref


def test_a_model_that_cannot_be_had_is_a_sentence(
    small_box: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    app = AppTest.from_string(CARD, default_timeout=120)
    app.session_state["pair/model"] = "hub:roberta-base"
    app.run()
    click(app, "Check the pair")
    assert not app.exception
    assert "roberta-base" in words(app)
    assert not any(button.label == "Make the report" for button in app.button)
