"""How to read a figure: one line below the views."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import STUDIES

LONGEST = 138  # characters: one line at 1280 pixels


def page() -> None:
    import streamlit as st

    from ui.frame.presenting import show_reading

    show_reading(st.session_state.get("line", "1 is *equal* <b>."))


def lines(app: AppTest) -> list[str]:
    assert not app.exception
    return [element.proto.body for element in app.get("html")]


def test_a_line_is_text_with_emphasis_that_nobody_has_to_open() -> None:
    (line,) = lines(AppTest.from_function(page).run())
    assert line.startswith('<p class="reading">')
    assert "1 is <em>equal</em> &lt;b&gt;." in line


@pytest.mark.slow
def test_there_is_none_in_presentation_nor_without_a_text() -> None:
    app = AppTest.from_function(page)
    app.query_params["present"] = "1"
    assert lines(app.run()) == []
    app = AppTest.from_function(page)
    app.session_state["line"] = ""
    assert lines(app.run()) == []


def test_the_lines_of_all_studies_are_short() -> None:
    lines = [
        line for study in STUDIES.values() for line in (view.how_to_read for view in study.views)
    ]
    assert [line for line in lines if len(line) > LONGEST or "\n" in line] == []
