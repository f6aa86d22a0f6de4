"""A page's form: defaults, links, typed values, what is refused, uploads; each page keeps its own
values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import STUDIES
from core.options import Option, options_of
from tests.cases import exhaustive
from tests.core.test_options import another
from ui.study.experiment import reason_of
from ui.study.forms import NO_FILE

SHOWN = [
    (study, option)
    for study in STUDIES
    for option in options_of(STUDIES[study].Spec)
    if option.kind != "corpus"
]
KINDS = dict.fromkeys(option.kind for _, option in SHOWN)
EACH = [next(each for each in SHOWN if each[1].kind == kind) for kind in KINDS]


def page() -> None:
    import streamlit as st

    from core.catalogue import STUDIES
    from ui.study.forms import Form

    study = st.session_state.get("study", "rsa")
    form = Form(study.replace(" ", "_"), STUDIES[study].Spec)
    with form.body():
        if "corpus" in form.address.options and "genres" in form.address.options:
            form.text()
        form.rest()
        for name, option in form.address.options.items():
            if not option.shown:
                form.control(name)
        form.button()
    st.session_state.got = (form.spec(), form.pressed)


def opened(study: str = "rsa", **link: str | list[str]) -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    app.session_state["study"] = study
    app.query_params.update(link)
    return app.run()


def got(app: AppTest) -> Any:
    assert not app.exception
    return app.session_state.got[0]


def address(app: AppTest) -> dict[str, list[str]]:
    return {
        name: value if isinstance(value, list) else [value]
        for name, value in app.query_params.items()
    }


def press_run(app: AppTest) -> AppTest:
    next(button for button in app.button if button.label == "Run").click()
    return app.run()


@pytest.mark.usefixtures("small_box")
@pytest.mark.parametrize("study", exhaustive(STUDIES, "rsa", "probe", "weights"))
def test_the_form_begins_with_the_defaults_and_an_empty_address(study: str) -> None:
    app = opened(study)
    assert got(app) == STUDIES[study].Spec()
    assert dict(app.query_params) == {}


def check_link(study: str, options: Sequence[Option]) -> None:
    """Open a link that sets these options; where a rule between fields refuses them together, two
    links with half of them each."""
    values = {option.name: another(option) for option in options}
    app = opened(study, **{option.name: option.write(values[option.name]) for option in options})
    spec, messages = got(app), [str(error.value) for error in (*app.error, *app.warning)]
    if spec is None and len(options) > 1:
        middle = len(options) // 2
        check_link(study, options[:middle])
        check_link(study, options[middle:])
        return
    if spec is not None:  # else the rule refuses it alone
        assert {name: getattr(spec, name) for name in values} == values, messages
        assert not messages
    shown = address(app)
    for option in options:
        value = values[option.name]
        assert shown.get(option.name) == (option.write(value) if value != option.default else None)


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
@pytest.mark.parametrize("study", exhaustive(STUDIES, "rsa"))
def test_a_link_sets_every_option_and_stays(study: str) -> None:
    check_link(study, [option for each, option in SHOWN if each == study])


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_a_link_sets_an_option_of_every_kind_alone() -> None:
    for study, option in EACH:
        check_link(study, [option])


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_a_browser_that_was_told_no_value_draws_it_all_the_same() -> None:
    app = opened(
        sentences="40", compare=["zoo:nli-0", "zoo:parse-0"], references="false", measure="cka"
    )
    app.session_state["rsa/form open"] = (
        True  # the form was opened: no control is told its value again
    )
    app.run()
    drawn = {
        element.key: element.proto
        for kind in ("number_input", "multiselect", "selectbox", "toggle")
        for element in app.get(kind)
    }
    assert not drawn["rsa/sentences"].set_value
    assert drawn["rsa/sentences"].default == 40
    assert drawn["rsa/references"].default is False
    chosen = drawn["rsa/compare"]
    assert [chosen.options[number] for number in chosen.default] == ["zoo:nli-0", "zoo:parse-0"]
    measure = drawn["rsa/measure"]
    assert "CKA" in measure.options[measure.default]


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_a_widget_changes_spec_and_address() -> None:
    app = opened()
    app.number_input(key="rsa/words").set_value(50)
    app.toggle(key="rsa/references").set_value(False)
    app.multiselect(key="rsa/genres").set_value(["news", "legal"])
    press_run(app)
    assert (got(app).words, got(app).references, got(app).genres) == (50, False, ("news", "legal"))
    assert address(app) == {"words": ["50"], "references": ["false"], "genres": ["news", "legal"]}
    assert app.session_state.got[1]


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_what_a_link_cannot_ask_for_is_left_out_and_said() -> None:
    app = opened(
        base="[no](http://evil.example)",
        compare=["zoo:seed-1", "nonsense"],
        measure="magic",
        corpus="/etc/passwd",
        genres=["news", "gossip"],
        sentences="many",
        unknown="x",
    )
    spec = got(app)
    assert (spec.base, spec.compare, spec.measure, spec.corpus) == (
        "zoo:seed-0",
        ("zoo:seed-1",),
        "rsa",
        "demo",
    )
    assert (spec.genres, spec.sentences) == (("news",), 200)
    said = " ".join(str(warning.value) for warning in app.warning)
    assert all(
        f"`{value}`" in said for value in ("nonsense", "magic", "/etc/passwd", "gossip", "many")
    )
    assert "](http" not in said.replace("`[no](http://evil.example)`", "")
    assert "unknown" not in app.query_params
    press_run(app)
    assert not app.warning


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_a_mistake_keeps_the_last_study() -> None:
    app = opened(words="50")
    app.multiselect(key="rsa/compare").set_value([])
    press_run(app)
    assert "at least 1" in app.error[0].value
    assert got(app).words == 50
    assert got(app).compare == ("zoo:parse-0", "zoo:sentiment-0", "zoo:nli-0")


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_a_link_about_an_upload_asks_for_the_file() -> None:
    app = opened(corpus="upload:mine.txt")
    assert got(app) is None
    assert app.error[0].value == NO_FILE


def two_pages() -> None:
    import streamlit as st

    from core.studies.rsa.layers.spec import RsaSpec
    from ui.study.forms import Form

    form = Form(st.session_state.get("page", "one"), RsaSpec)
    with form.body():
        form.rest()
        form.button()
    st.session_state.got = (form.spec(), form.pressed)


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_no_page_gets_the_values_of_another() -> None:
    app = AppTest.from_function(two_pages, default_timeout=30)
    app.query_params.update({"words": "50"})
    app.run()
    assert got(app).words == 50
    app.session_state["page"] = "two"
    app.query_params.clear()  # the browser leaves a page's address behind
    app.run()
    assert got(app).words == 1_000
    assert dict(app.query_params) == {}


@pytest.mark.slow
@pytest.mark.usefixtures("small_box")
def test_the_back_button_brings_an_earlier_address_back() -> None:
    app = opened(words="50")
    app.number_input(key="rsa/words").set_value(60)
    press_run(app)
    assert got(app).words == 60
    app.query_params["words"] = "50"
    app.run()
    assert got(app).words == 50


def test_what_is_no_value_is_not_in_the_link_whatever_its_length() -> None:
    from core.studies.rsa.tokens.spec import TokenMapSpec
    from ui.frame.links import Address

    address = Address("any", options_of(TokenMapSpec))
    asked = {"question": "(" * 100_000, "answer": "[" * 4_000, "models": [], "highlight": ["door"]}
    assert address.query(asked) == {"answer": ["[" * 4_000], "highlight": ["door"]}


def test_a_study_says_why_one_would_run_it_or_at_least_what_it_tells() -> None:
    study = STUDIES["swap"]
    assert (
        reason_of(
            replace(study, words=replace(study.words, reason="It shows which layers matter."))
        )
        == "It shows which layers matter."
    )
    purpose = reason_of(replace(study, words=replace(study.words, reason="")))
    assert purpose.removesuffix(".").lower() == study.purpose.lower()
    assert purpose[0].isupper()
