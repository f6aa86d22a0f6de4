"""Names of models in figures: from link or fields into charts, tables and files."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from core.errors import SpecError
from core.options import options_of
from core.results.export import Result
from core.results.names import renamed, short_name, short_names
from ui.frame.links import MOST_NAMES, Manner
from ui.frame.naming import in_names, models_in, named_cells

REFS = ("zoo:parse-0", "zoo:nli-0")
OPTION = next(option for option in options_of(Manner) if option.name == "names")


def page() -> None:
    import streamlit as st

    from core.results.names import short_names
    from core.studies.rsa.layers.spec import RsaSpec
    from tests.ui.frame.test_naming import REFS
    from ui.frame.naming import in_names, names_control, names_here
    from ui.study.forms import Form

    Form("rsa", RsaSpec)
    names_control(REFS)
    st.session_state.drawn = in_names(lambda: short_names(REFS), names_here())()
    st.session_state.outside = short_names(REFS)


def opened(*names: str) -> AppTest:
    app = AppTest.from_function(page, default_timeout=30)
    if names:
        app.query_params["names"] = list(names)
    return app.run()


def rename(app: AppTest, *names: str) -> AppTest:
    for field, name in zip(app.text_input, names, strict=True):
        field.set_value(name)
    next(button for button in app.button if button.label == "Apply").click()
    app.run()
    assert not app.exception
    return app


def drawn(app: AppTest) -> list[str]:
    return [*app.session_state.drawn.values()]


@pytest.mark.slow
def test_a_name_typed_is_drawn_and_stays_in_the_link() -> None:
    app = rename(opened(), "Parser", "")
    assert drawn(app) == ["Parser", "nli-0"]
    assert [*app.session_state.outside.values()] == ["parse-0", "nli-0"]
    assert app.query_params["names"] in ("zoo:parse-0=Parser", ["zoo:parse-0=Parser"])
    assert [field.value for field in app.text_input] == ["Parser", ""]
    assert drawn(rename(app, "", "")) == ["parse-0", "nli-0"]
    assert "names" not in app.query_params


def test_a_link_gives_the_names_and_keeps_those_of_models_that_are_not_here() -> None:
    app = opened("zoo:nli-0=Inference", "zoo:pos-0=Tagger")
    assert drawn(app) == ["parse-0", "Inference"]
    rename(app, "Parser", "Inference")
    expected = {"zoo:parse-0=Parser", "zoo:nli-0=Inference", "zoo:pos-0=Tagger"}
    assert set(app.query_params["names"]) == expected


@pytest.mark.parametrize("names", [("Same", "Same"), ("nli-0", "")])
def test_one_name_for_two_models_is_refused(names: tuple[str, str]) -> None:
    app = rename(opened(), *names)
    assert len(app.error) == 1
    assert drawn(app) == ["parse-0", "nli-0"]


@pytest.mark.parametrize(
    "values",
    [
        ["zoo:parse-0"], ["=Parser"], ["zoo:parse-0="], ["zoo:parse-0=" + "x" * 41],
        ["zoo:parse-0=a\nb"],
        ["zoo:parse-0=a", "zoo:parse-0=b"], ["zoo:parse-0=a", "zoo:nli-0=a"],
        [f"zoo:m-{number}=n{number}" for number in range(MOST_NAMES + 1)],
    ],
)  # fmt: skip
def test_what_is_no_name_is_refused(values: list[str]) -> None:
    with pytest.raises(SpecError):
        OPTION.check(values)


def test_names_are_read_as_they_are_written() -> None:
    values = OPTION.check(["zoo:parse-0= <b>Parser</b> = 1 "])
    assert values == ("zoo:parse-0=<b>Parser</b> = 1",)
    assert OPTION.read(OPTION.write(values)) == values


def test_a_figure_renames_models_only_while_it_is_drawn() -> None:
    with renamed({"zoo:parse-0": "Parser"}):
        assert short_name("zoo:parse-0") == "Parser"
        assert in_names(lambda: short_names(REFS), {"zoo:nli-0": "Inference"})() == {
            "zoo:parse-0": "parse-0",
            "zoo:nli-0": "Inference",
        }
    assert short_name("zoo:parse-0") == "parse-0"


def test_a_chart_has_the_name_in_lines_and_words() -> None:
    from core.studies.rsa.layers.charts import similarity_chart

    chart: Any = in_names(
        lambda: similarity_chart(similarities(), "states"), {"zoo:parse-0": "Parser"}
    )()
    spec = str(chart.to_dict())
    assert "Parser" in spec
    assert "parse-0" not in spec.replace("zoo:parse-0", "")


def test_a_table_on_the_page_has_the_names_and_the_result_keeps_the_references() -> None:
    result = similarities()
    table = result.tables["similarity"]
    shown = named_cells(table, {"zoo:parse-0": "Parser"})
    assert set(shown["model"]) == {"Parser"}
    assert set(table["model"]) == {"zoo:parse-0"}
    assert named_cells(table, {}) is table
    assert models_in(result) == ("zoo:seed-0", "zoo:parse-0")


def similarities() -> Result:
    rows = pd.DataFrame(
        {
            "model": ["zoo:parse-0"] * 2,
            "layer": [0, 1],
            **{name: [0.9, 0.5] for name in ("similarity", "low", "high")},
            **{name: [0.0, 0.0] for name in ("null_low", "null_high")},
            "relative_change": [0.1, 0.1],
            "scaled": [1.0, 1.0],
            "runs": [1, 1],
        }
    )
    return Result("rsa", {"base": "zoo:seed-0", "measure": "rsa"}, "", {"similarity": rows})
