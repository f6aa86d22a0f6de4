"""How to read a figure: one line, open at the first visit, folded at the next."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.catalogue import STUDIES

LONGEST = 138  # characters: one line at 1280 pixels


def page() -> None:
    import streamlit as st

    from ui.frame.reading import show_reading

    line = st.session_state.get("line", "1 is *equal* <b>.")
    show_reading("rsa", st.session_state.get("view", "By layer"), line)


def lines(app: AppTest) -> list[str]:
    assert not app.exception
    return [element.proto.body for element in app.get("html")]


def visit(app: AppTest, view: str) -> bool:
    """Whether the line of a view is open."""
    app.session_state["view"] = view
    (line,) = lines(app.run())
    return line.startswith('<details class="reading" open>')


def test_a_line_is_open_during_the_first_visit_and_folded_at_the_next() -> None:
    app = AppTest.from_function(page)
    assert visit(app, "By layer")
    assert visit(app, "By layer")  # the page reran: it is the same visit
    assert visit(app, "Two texts")
    assert not visit(app, "By layer")
    assert not visit(app, "Two texts")


def test_a_line_is_text_with_emphasis() -> None:
    (line,) = lines(AppTest.from_function(page).run())
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
