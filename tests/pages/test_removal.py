"""Erased subspaces on the probe page: started by its button, with its own controls."""

from __future__ import annotations

import pytest

from tests.pages.conftest import headline, open_page, sentences, settle
from tests.pages.test_probe_trees import PAGE, figures
from ui.study.experiments import START

SMALL = {
    **{"sentences": "60", "draws": "20", "epochs": "1", "study": "probe removal"},
    **{"models": "zoo:seed-0", "rank": "2", "randoms": "2", "scored": "2"},
    **{"kinds": "determiner", "pairs": "10"},
}
pytestmark = pytest.mark.usefixtures("box")


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_subspace_is_erased_when_the_button_is_pressed() -> None:
    app = open_page(PAGE, **SMALL)
    assert not app.exception
    assert START in sentences(app)
    assert figures(app) == 0
    next(button for button in app.button if button.label.startswith("Run, about")).click()
    settle(app.run())
    assert not app.exception
    assert not app.error
    assert figures(app) == 1
    assert "the probe's subspace" in headline(app)
    app.segmented_control(key="probe/probe removal shown").set_value("accuracy")
    settle(app.run())
    assert not app.exception
    assert figures(app) == 1
