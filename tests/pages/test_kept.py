"""Two studies beside each other, on a page."""

from __future__ import annotations

import pytest

from tests.pages.conftest import SMALL, open_page, sentences, settle


@pytest.mark.usefixtures("box")
def test_a_kept_result_stands_beside_the_next_one_until_it_is_let_go() -> None:
    app = open_page("pages/rsa.py", **SMALL)
    assert len(app.get("vega_lite_chart")) == 1
    next(button for button in app.button if button.label == "Keep").click()
    assert "Kept" in [button.label for button in settle(app.run()).button]
    app.selectbox(key="rsa/measure").set_value("cka")
    next(button for button in app.button if button.label == "Run").click()
    app = settle(app.run())
    assert not app.exception
    assert len(app.get("vega_lite_chart")) == 3
    assert "the two measure different things" in sentences(app)
    assert "This less the kept one" not in sentences(app)
    assert "Table: differences" not in [expander.label for expander in app.expander]
    next(button for button in app.button if button.label == "Let go").click()
    assert len(settle(app.run()).get("vega_lite_chart")) == 1
