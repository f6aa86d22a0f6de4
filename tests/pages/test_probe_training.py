"""Probes through training on the probe page: started by its button, the run in its own controls and
in the link."""

from __future__ import annotations

import pytest

from core.results.metrics import metric_of
from tests.pages.conftest import headline, open_page, sentences, settle
from tests.pages.test_probe_trees import PAGE, figures
from ui.study.experiments import START

SMALL = {
    "sentences": "140",
    "epochs": "1",
    "seeds": "1",
    "controls": "1",
    "draws": "20",
    "study": "probe training",
    "steps": ["zoo:seed-0@step-0"],
}
pytestmark = pytest.mark.usefixtures("box")


def test_a_run_is_probed_when_its_button_is_pressed() -> None:
    app = open_page(PAGE, **SMALL)
    assert not app.exception
    assert START in sentences(app)
    assert figures(app) == 0
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert not app.error
    assert figures(app) == 3
    assert metric_of("uuas").quantity in headline(app)
    app.segmented_control(key="probe/probe training/score").set_value("dspr")
    settle(app.run())
    assert metric_of("dspr").quantity in headline(app)
    assert app.query_params["score"] == "dspr"
    assert app.query_params["steps"] == "zoo:seed-0@step-0"
    app.multiselect(key="probe/probe training/steps").set_value(["zoo:nothing@step-*"])
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert "No model matches" in sentences(app)
