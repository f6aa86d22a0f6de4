"""Results of real models open on their page without the models; to recompute one asks for them."""

from __future__ import annotations

import pytest

from core.catalogue import STUDIES
from core.commands.examples.every import query_of
from core.limits import MODE
from core.models.zoo import zoo_folder
from core.results.shelf.archive import FILE, Shelf, Shelved
from tests.cases import exhaustive
from tests.pages.conftest import open_page, sentences, settle
from ui.study.models import shelved_entries
from ui.study.run_panel import PRECOMPUTED

ENTRIES = Shelf(zoo_folder() / "answers" / FILE).entries
BY_NAME = {entry.name: entry for entry in ENTRIES}

pytestmark = pytest.mark.usefixtures("precomputed_results")


def opened(entry: Shelved):
    spec = entry.spec(STUDIES[entry.study].Spec)
    return open_page(entry.page, **query_of(spec, entry.study if entry.beside else ""))


@pytest.mark.parametrize("entry", exhaustive(ENTRIES, *ENTRIES[:1]), ids=lambda entry: entry.name)
def test_a_result_opens_on_its_page_without_its_models(entry: Shelved) -> None:
    app = opened(entry)
    assert not app.exception
    assert not app.error
    assert PRECOMPUTED in sentences(app)
    assert "The link asks for" not in sentences(app)
    assert "Models that are not included" in sentences(app).replace("\\", "")


@pytest.mark.exhaustive
def test_to_recompute_asks_for_the_model_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    app = opened(BY_NAME["minilm-edges"])
    next(button for button in app.button if button.label == "Recompute here").click().run()
    app = settle(app)
    assert not app.exception
    assert PRECOMPUTED not in sentences(app)
    said = sentences(app).replace("\\", "")
    assert "sentence-transformers/all-MiniLM-L6-v2 was not downloaded earlier" in said


def test_a_shared_instance_shows_those_of_hub_models_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(MODE, "shared")
    titles = {entry.title for entry in shelved_entries()}
    assert titles == {entry.title for entry in ENTRIES if entry.name.startswith("minilm")}
    app = opened(BY_NAME["minilm-edges"])
    assert not app.exception
    assert PRECOMPUTED in sentences(app)


def test_a_view_that_needs_the_probes_says_that_they_are_not_there() -> None:
    entry = BY_NAME["minilm-probe"]
    app = open_page(entry.page, **query_of(entry.spec(STUDIES[entry.study].Spec), view="Sentence"))
    assert not app.exception
    assert any("without its probes" in info.value for info in app.info)


def test_home_has_the_results_in_a_fold_with_their_findings() -> None:
    app = open_page("pages/home.py")
    assert "not included" not in sentences(app)
    app.session_state["more_examples"] = True
    app.run()
    assert not app.exception
    links = {link.proto.label.strip("*").replace("\\", "") for link in app.get("page_link")}
    assert {entry.title for entry in ENTRIES} <= links
