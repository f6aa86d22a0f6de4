"""A pinned result, on a page."""

from __future__ import annotations

import pytest

from tests.pages.conftest import SMALL, open_page, sentences, settle


@pytest.mark.usefixtures("box")
def test_a_pinned_result_is_shown_beside_the_next_one_until_it_is_unpinned() -> None:
    app = open_page("pages/rsa.py", **SMALL)
    assert len(app.get("vega_lite_chart")) == 1
    next(button for button in app.button if button.label == "Pin").click()
    assert "Pinned" in [button.label for button in settle(app.run()).button]
    app.selectbox(key="rsa/measure").set_value("cka")
    next(button for button in app.button if button.label == "Run").click()
    app = settle(app.run())
    assert not app.exception
    assert len(app.get("vega_lite_chart")) == 3
    assert r"measure\: rsa and cka" in sentences(app)
    assert "This result minus the pinned one" not in sentences(app)
    assert "Table of differences" not in [expander.label for expander in app.expander]
    next(button for button in app.button if button.label == "Unpin").click()
    assert len(settle(app.run()).get("vega_lite_chart")) == 1
