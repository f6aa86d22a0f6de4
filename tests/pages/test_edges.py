"""Edge probing on the probe page: starts when asked to, shows each measure, says what a text
lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.catalogue import STUDIES
from core.results.estimates import estimate_of
from tests.core.studies.probes.edges.test_study import write_tagged
from tests.core.tiny_models import save_tiny
from tests.pages.conftest import headline, open_page, sentences, settle
from tests.pages.test_probe_trees import PAGE, figures
from ui.study import controls
from ui.study.experiments import START


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | list[str]]:
    folder = tmp_path_factory.mktemp("edge-page")
    trees = write_tagged(folder / "trees.conllu")
    small = {
        "draws": "20",
        "untrained": "false",
        "control_labels": "1",
        "beside_window": "true",
        "sentences": "140",
        "view": STUDIES["probe edges"].title,
    }
    return {"models": [f"path:{save_tiny(folder / 'bert', 'bert')}"], "corpus": str(trees), **small}


@pytest.fixture(autouse=True)
def offered(link: dict[str, str | list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest cannot rerun a form that holds a value which is not among its options, as a browser
    can."""
    monkeypatch.setattr(controls, "TEXTS", (*controls.TEXTS, link["corpus"]))
    monkeypatch.setattr(controls, "model_options", lambda: list(link["models"]))


@pytest.mark.exhaustive
def test_it_starts_when_its_button_is_pressed_and_shows_every_measure(
    link: dict[str, str | list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_STORE", str(tmp_path / "store"))
    app = open_page(PAGE, **link)
    assert not app.exception
    assert START in sentences(app)
    assert figures(app) == 0
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert not app.error
    scores = app.dataframe[0].value
    bert = scores[scores["model"].str.contains("bert") & (scores["metric"] == "accuracy")]
    assert any(estimate_of(row, "value").value_text in headline(app) for _, row in bert.iterrows())
    assert figures(app) == 3
    for measure in ("bits", "selectivity", "unseen", "gain"):
        app.segmented_control(key="probe/probe edges shown").set_value(measure)
        app.run()
        assert not app.exception
    app.segmented_control(key="probe/view").set_value("By layer")
    app.run()
    assert not app.exception
