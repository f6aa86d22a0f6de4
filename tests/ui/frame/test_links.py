"""Former names of views in links."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.browser.screenshots import views
from ui.frame.links import FORMER_VIEWS
from ui.frame.shell import PAGES


def page() -> None:
    import streamlit as st

    from core.options import Option
    from core.rsa.layers.spec import RsaSpec
    from ui.study.forms import Form

    choices = {"first": "", "Layer swap": ""}
    view = Option("choice", "View", "Chooses the view.", "first", choices, name="view")
    st.session_state.view = Form("rsa", RsaSpec, display=[view]).address["view"]


def test_every_former_name_leads_to_a_view_of_today() -> None:
    offered = {view for entry in PAGES for view in views(entry.path)}
    assert set(FORMER_VIEWS.values()) <= offered
    assert not set(FORMER_VIEWS) & offered


@pytest.mark.parametrize("asked", ["Layers exchanged", "Layer swap"])
def test_a_link_with_a_former_name_opens_the_view_and_is_written_anew(asked: str) -> None:
    app = AppTest.from_function(page, default_timeout=30)
    app.query_params["view"] = asked
    app.run()
    assert not app.exception
    assert not app.warning
    assert app.session_state.view == "Layer swap"
    assert app.query_params["view"] in ("Layer swap", ["Layer swap"])
