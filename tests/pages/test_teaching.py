"""The teacher's page, and a lesson walked through on its page."""

from __future__ import annotations

import pytest

from tests.pages.conftest import SMALL, open_page, sentences, settle


def test_the_teachers_page_has_four_lessons_and_ninety_minutes() -> None:
    app = open_page("pages/teaching.py")
    assert not app.exception
    assert app.table[0].value["minute"].iloc[-1] == "85 to 90"
    assert len(app.get("download_button")) == 4


@pytest.mark.usefixtures("box")
def test_a_lesson_asks_for_a_guess_first_and_judges_it_after_the_figure() -> None:
    app = open_page("pages/rsa.py", lesson="true", **SMALL)
    assert not app.get("vega_lite_chart")
    guess = next(slider for slider in app.slider if slider.key == "rsa/guess")
    guess.set_value(0.0)
    next(button for button in app.button if button.label == "Look").click()
    settle(app.run())
    assert not app.exception
    assert len(app.get("vega_lite_chart")) == 1
    assert "You said 0.00" in sentences(app)
    assert "too low" in sentences(app)
