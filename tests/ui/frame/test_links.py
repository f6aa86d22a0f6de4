"""What links hold: former names of views, and values of which some are invalid."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.browser.screenshots import views
from ui.frame import former
from ui.frame.former import of_today
from ui.frame.shell import PAGES


def page() -> None:
    import streamlit as st

    from core.options import Option
    from core.studies.rsa.layers.spec import RsaSpec
    from ui.study.forms import Form

    choices = {"first": "", "Layer swap": "", "Probes through training": ""}
    view = Option("choice", "View", "Chooses the view.", "first", choices, name="view")
    st.session_state.view = Form("rsa", RsaSpec, display=[view]).address["view"]


def test_every_former_name_leads_to_a_view_of_today() -> None:
    offered = {view for entry in PAGES for view in views(entry.path)}
    assert {name for names in former.VIEWS.values() for name in names} <= offered
    assert not set(former.VIEWS) & offered


@pytest.mark.parametrize(
    ("asked", "view"),
    [
        ("Layers exchanged", "Layer swap"),
        ("Layer swap", "Layer swap"),
        ("Through training", "Probes through training"),
    ],
)
def test_a_link_with_a_former_name_opens_the_view_and_is_written_anew(
    asked: str, view: str
) -> None:
    app = AppTest.from_function(page, default_timeout=30)
    app.query_params["view"] = asked
    app.run()
    assert not app.exception
    assert not app.warning
    assert app.session_state.view == view
    assert app.query_params["view"] in (view, [view])


def models_page() -> None:
    import streamlit as st

    from core.studies.alignment.seeds.spec import AlignSpec
    from ui.study.forms import Form

    st.session_state.models = Form("alignment", AlignSpec).address["models"]


def opened_with(*models: str) -> AppTest:
    app = AppTest.from_function(models_page, default_timeout=30)
    app.query_params["models"] = list(models)
    app.run()
    assert not app.exception
    return app


def test_one_wrong_model_of_a_link_leaves_the_others() -> None:
    app = opened_with("zoo:seed-0", "zoo:seed-2", "garbage", "zoo:seed-3", "garbage")
    assert app.session_state.models == ["zoo:seed-0", "zoo:seed-2", "zoo:seed-3"]
    (warning,) = app.warning
    assert warning.value.count("The link asks for") == 1
    assert "`garbage`" in warning.value


def test_a_name_that_is_no_option_is_announced() -> None:
    app = AppTest.from_function(models_page, default_timeout=30)
    app.query_params.update(bogus="1", split="sentence")
    app.run()
    (warning,) = app.warning
    assert "`bogus`" in warning.value


@pytest.mark.parametrize(
    ("models", "said"),
    [
        (["zoo:seed-0", "zoo:seed-0"], ["`zoo:seed-0`: Choose at least 2"]),
        (["zoo:seed-2", "garbage"], ["`garbage`", "`zoo:seed-2`: Choose at least 2"]),
        (["garbage", "rubbish"], ["`garbage`", "`rubbish`"]),
    ],
)
def test_too_few_models_of_a_link_are_refused_with_each_reason_once(
    models: list[str], said: list[str]
) -> None:
    app = opened_with(*models)
    assert app.session_state.models == ["zoo:seed-0", "zoo:seed-1"]
    (warning,) = app.warning
    assert warning.value.count("The link asks for") == len(said)
    assert all(part in warning.value for part in said)


def test_a_former_link_to_scaled_intruders_leaves_the_options_of_its_page_behind() -> None:
    """`models` and `threshold` were the page's own where the study was a view of it."""
    of_page = {"models": ["zoo:parse-*"], "threshold": ["0.9"]}
    link = {"view": ["Intruders"], "scaling": ["true"], "intruder_models": ["zoo:nli-0"], **of_page}
    assert of_today(link) == {"models": ["zoo:nli-0"], "study": ["weights scaling"]}
    linked = {"study": ["weights intruders"], "scaling": ["true"], **of_page}
    assert of_today(linked) == {**of_page, "study": ["weights scaling"]}
