"""Polar probes on the probe page: an experiment of its own, and arcs with heads and labels in
Sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.results.estimates import estimate_of
from tests.core.studies.probes.edges.test_study import write_tagged
from tests.core.tiny_models import save_tiny
from tests.pages.conftest import headline, open_page, origins, sentences, settle
from tests.pages.test_probe_trees import PAGE, figures
from ui.study import controls
from ui.study.experiments import START

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | list[str]]:
    folder = tmp_path_factory.mktemp("polar-page")
    trees = write_tagged(folder / "trees.conllu")
    small = {
        **{"rank": "8", "epochs": "1", "seeds": "1", "draws": "20", "controls": "0"},
        **{"untrained": "false", "label_controls": "1", "sentences": "140"},
    }
    return {"models": [f"path:{save_tiny(folder / 'bert', 'bert')}"], "corpus": str(trees), **small}


@pytest.fixture(autouse=True)
def offered(
    link: dict[str, str | list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """AppTest cannot rerun a form that holds a value which is not among its options, as a browser
    can."""
    monkeypatch.setattr(controls, "TEXTS", (*controls.TEXTS, link["corpus"]))
    monkeypatch.setattr(controls, "model_options", lambda: list(link["models"]))
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))


def test_the_experiment_starts_when_its_button_is_pressed(
    link: dict[str, str | list[str]],
) -> None:
    app = open_page(PAGE, **link, view=STUDIES["probe polar"].title)
    assert not app.exception
    assert START in sentences(app)
    assert figures(app) == 0
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert not app.error
    assert figures(app) == 3
    scores = app.dataframe[0].value
    assert set(scores["metric"]) == {"las"}
    assert any(
        estimate_of(row, "value").value_text in headline(app) for _, row in scores.iterrows()
    )
    app.segmented_control(key="probe/probe polar shown").set_value("uas")
    settle(app.run())
    assert not app.exception
    assert figures(app) == 1
    assert set(app.dataframe[0].value["metric"]) == {"uas"}


def test_sentence_draws_arcs_with_heads_and_labels(link: dict[str, str | list[str]]) -> None:
    app = open_page(PAGE, **link, view="Sentence", drawn_by="polar")
    assert not app.exception
    assert START in sentences(app)
    assert figures(app) == 0
    assert not origins(app)
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert not app.error
    assert figures(app) == 4
    assert len(origins(app)) == 1, "of the arcs that are shown, not of the other probe's too"
    assert "head and label" in headline(app)
    assert {"parse_label", "predicted_label"} <= set(app.dataframe[0].value)
    app.segmented_control(key="probe/source").set_value("worst")
    settle(app.run())
    assert not app.exception
    assert figures(app) == 4
    app.segmented_control(key="probe/drawn_by").set_value("structural")
    settle(app.run())
    assert not app.exception
    assert figures(app) == 4
    assert "head and label" not in headline(app)
    assert "drawn_by" not in app.query_params
