"""Behaviour beside probes on the probe page: started by its button, with its own controls."""

from __future__ import annotations

import pytest

from tests.pages.conftest import headline, open_page, sentences, settle
from tests.pages.test_probe_trees import PAGE, figures
from ui.study.experiments import START

SMALL = {
    "sentences": "60",
    "draws": "20",
    "study": "probe behaviour",
    "models": ["zoo:seed-0", "zoo:seed-0@step-0"],
    "pairs": "10",
    "kinds": "determiner",
}
pytestmark = pytest.mark.usefixtures("box")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_models_are_scored_when_the_button_is_pressed() -> None:
    app = open_page(PAGE, **SMALL)
    assert not app.exception
    assert START in sentences(app)
    assert figures(app) == 0
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert not app.error
    assert figures(app) == 4
    assert "grammatical sentence" in headline(app)
    assert app.query_params["pairs"] == "10"
