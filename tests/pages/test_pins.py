"""A pinned result, on a page."""

from __future__ import annotations

import json

import pytest

from tests.pages.conftest import SMALL, open_page, sentences, settle
from ui.study import pins


@pytest.mark.usefixtures("box")
def test_a_pinned_result_is_shown_beside_the_next_one_until_it_is_unpinned() -> None:
    app = open_page("pages/rsa.py", **SMALL)
    panels = len(app.get("vega_lite_chart"))
    assert panels == 2  # states and functions of layers
    next(button for button in app.button if button.label == "Pin").click()
    assert "Pinned" in [button.label for button in settle(app.run()).button]
    app.selectbox(key="rsa/measure").set_value("cka")
    next(button for button in app.button if button.label == "Run").click()
    app = settle(app.run())
    assert not app.exception
    assert len(app.get("vega_lite_chart")) > panels
    assert r"measure\: rsa and cka" in sentences(app)
    assert "This result minus the pinned one" not in sentences(app)
    assert "Table of differences" not in [expander.label for expander in app.expander]
    next(button for button in app.button if button.label == "Unpin").click()
    assert len(settle(app.run()).get("vega_lite_chart")) == panels


@pytest.mark.exhaustive
@pytest.mark.usefixtures("box")
def test_small_multiples_stand_below_the_headline_with_the_difference() -> None:
    app = open_page("pages/rsa.py", **SMALL)
    panels = len(app.get("vega_lite_chart"))
    next(button for button in app.button if button.label == "Pin").click()
    app = settle(app.run())
    app.number_input(key="rsa/seed").set_value(1)
    next(button for button in app.button if button.label == "Run").click()
    app = settle(app.run())
    assert not app.exception
    specs = [json.loads(chart.proto.spec) for chart in app.get("vega_lite_chart")]
    assert len(specs) == panels + 3
    assert "no difference" in json.dumps(specs[2])
    assert [spec["width"] for spec in specs[:3]] == ["container"] * 3
    first, second = (spec["layer"][0]["encoding"]["y"]["scale"]["domain"] for spec in specs[:2])
    assert first == second
    assert "This result minus the pinned one" in sentences(app)
    assert "Table of differences" in [expander.label for expander in app.expander]


@pytest.mark.exhaustive
@pytest.mark.usefixtures("box")
def test_several_results_are_pinned_and_the_chosen_one_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pins, "MOST", 2)
    app = open_page("pages/rsa.py", **SMALL)
    for measure in ("cka", "procrustes"):
        next(button for button in app.button if button.label == "Pin").click()
        app = settle(app.run())
        app.selectbox(key="rsa/measure").set_value(measure)
        next(button for button in app.button if button.label == "Run").click()
        app = settle(app.run())
    assert not app.exception
    assert next(button for button in app.button if button.label == "Pin").disabled  # two are enough
    chosen = next(box for box in app.selectbox if box.label == "Pinned result")
    assert [line[:2] for line in chosen.options] == ["1.", "2."]
    assert r"measure\: cka and procrustes" in sentences(app)
    chosen.set_value(0)
    app = settle(app.run())
    assert r"measure\: rsa and procrustes" in sentences(app)
    next(button for button in app.button if button.label == "Unpin").click()
    app = settle(app.run())
    assert r"measure\: cka and procrustes" in sentences(app)  # the second is left
    assert not [box for box in app.selectbox if box.label == "Pinned result"]
    assert not next(button for button in app.button if button.label == "Pin").disabled
