"""Presentation mode: letters for a hall, views that go round, layers that end."""

from __future__ import annotations

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from ui.frame.presenting import LETTERS, enlarged


def test_letters_grow_and_data_do_not() -> None:
    spec = {
        "height": 300,
        "data": {"values": [{"size": 3}]},
        "config": {"axis": {"labelFontSize": 12}},
        "layer": [
            {
                "mark": {"type": "text", "fontSize": 12},
                "encoding": {"size": {"condition": {"value": 2}}},
            }
        ],
    }
    grown = enlarged(spec)
    assert (
        grown["config"]["axis"]["labelFontSize"] == grown["layer"][0]["mark"]["fontSize"] == LETTERS
    )
    assert grown["height"] == 300
    assert grown["data"] == spec["data"]
    assert grown["config"]["axisYDiscrete"] == {"labelOverlap": False}


def page() -> None:
    from types import SimpleNamespace
    from typing import Any

    import streamlit as st

    from core import options
    from core.studies.rsa.layers.spec import RsaSpec
    from core.study import View
    from ui.frame.presenting import show_keys
    from ui.study.forms import Form

    display = options.named(layer=options.whole("Layer", 0, low=0, high=2, help="Which."))
    study: Any = SimpleNamespace(views=[View(name=name) for name in ("first", "second")])
    form = Form("rsa", RsaSpec, display=display, studies=[study])
    show_keys(form.address)
    st.write(f"{form.view().name} {form.address['layer']}")


def press(app: AppTest, key: str) -> str:
    next(button for button in app.button if button.key == f"rsa/{key}").click()
    return str(app.run().markdown[-1].value)


@pytest.mark.slow
def test_arrows_change_view_and_layer_and_escape_leaves() -> None:
    st.cache_resource.clear()
    app = AppTest.from_function(page)
    app.query_params["present"] = "1"
    app.run()
    assert not app.exception
    assert press(app, "view Right") == "second 0"
    assert press(app, "view Right") == "first 0"
    assert press(app, "view Left") == "second 0"
    assert [press(app, "layer Up") for _ in range(3)] == ["second 1", "second 2", "second 2"]
    assert press(app, "layer Down") == "second 1"
    press(app, "leave")
    assert "present" not in app.query_params
    assert not [button for button in app.run().button if "view" in str(button.key)]
