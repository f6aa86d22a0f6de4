"""What every page shows of a result: headline, notes, tables, and method with caveats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core.results.columns import meaning
from core.results.glossary import explained
from core.results.report import MISLEADING
from core.results.table_words import label_of, title_of_table
from ui.frame.naming import named_cells, names_here
from ui.frame.shared import made_once
from ui.frame.text import plain
from ui.study.figures import show_charts

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from core.study import Study

__all__ = ["show_charts", "show_headline", "show_method", "show_table"]


LONGEST = 160  # characters of a headline of two lines


def lead_of(headline: str) -> str:
    """Return the first sentence of a headline longer than two lines, and a shorter one whole."""
    if len(headline) <= LONGEST:
        return headline
    end = headline.find(". ")
    return headline if end < 0 else headline[: end + 1]


def show_headline(result: Result, sentence: str = "", bar: DeltaGenerator | None = None) -> None:
    """Draw the headline with its terms explained, and the notes.

    Args:
        result: What the study returned.
        sentence: The view's headline; empty for the beginning of the study's.
        bar: The row of the page's views, which gets the button of the notes; without it, it is
            below the headline.
    """
    shown = cautioned(
        result, sentence or lead_of(result.headline.removeprefix(result.caution).lstrip())
    )
    show_sentence(shown)
    show_notes(result, bar, [result.headline] if shown != result.headline else [])


def show_view_headline(
    result: Result,
    view: str,
    write: Callable[[Result, str], str],
    bar: DeltaGenerator | None = None,
) -> None:
    """As `show_headline`, with a view's sentence, which is written once for all sessions.

    Args:
        result, bar: As for `show_headline`.
        view: The view's name.
        write: (result, view) -> the view's headline.
    """
    names = tuple(sorted(names_here().items()))
    sentence = made_once().get(result, ("headline", view, names), lambda: write(result, view))
    show_headline(result, sentence, bar)


def cautioned(result: Result, sentence: str) -> str:
    """Put the result's caution, if it has one, before a headline."""
    return f"{result.caution} {sentence}".strip()


def show_notes(result: Result, bar: DeltaGenerator | None = None, more: Sequence[str] = ()) -> None:
    """Draw the button that opens the notes on a result.

    Args:
        result: What the study returned.
        bar: The row of the button; None for this place.
        more: Sentences before the result's notices.
    """
    notices = [*more, *result.notices]
    if notices:
        label = f"{len(notices)} note{'s' if len(notices) > 1 else ''}"
        with bar or st.container(), st.popover(label, icon=":material/info:", type="tertiary"):
            for notice in notices:
                st.markdown(f"- {plain(notice)}")


def show_sentence(sentence: str) -> None:
    """Draw a headline, with its terms explained."""
    st.html(f'<h2 class="headline">{with_terms(sentence)}</h2>')


def with_terms(sentence: str) -> str:
    """Write the sentence as HTML; a term's meaning is shown on hover, tap or focus."""
    return "".join(
        f'<span class="term" tabindex="0">{escape(piece)}'
        f'<span class="meaning" role="tooltip">{escape(meaning)}</span></span>'
        if meaning
        else escape(piece)
        for piece, meaning in explained(sentence)
    )


def show_table(table: pd.DataFrame, name: str, digits: int = 3, title: str = "") -> None:
    """Draw a table under its title, to sort and search; skip an empty one.

    Columns have a title and an explanation on the page; files keep the raw names.

    Args:
        table: The rows shown.
        name: The table's name in the result and the data dictionary.
        digits: Decimals of numbers.
        title: Title of a table that shows only some of the rows.
    """
    if table.empty:
        return
    st.markdown(f"**{plain(title or title_of_table(name))}**")
    st.dataframe(
        in_words(named_cells(table, names_here())),
        hide_index=True,
        column_config={
            str(column): _column(table[column], name, digits) for column in table.columns
        },
        height=min(36 * (len(table) + 1) + 2, 360),
        placeholder="",
    )


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Write truth values as "yes" and "no", which would be drawn as checkboxes."""
    flags = [
        column
        for column in table.columns
        if set(table[column].dropna().map(type)) & {bool, np.bool_}
    ]
    return table.assign(
        **{column: table[column].map({True: "yes", False: "no"}) for column in flags}
    )


def _column(values: pd.Series, name: str, digits: int) -> Any:
    """Return a column's title, explanation and number format."""
    column = str(values.name)
    label, explained_as = label_of(name, column), meaning(name, column)
    if values.dtype.kind == "f":
        return st.column_config.NumberColumn(label, help=explained_as, format=f"%.{digits}f")
    return st.column_config.Column(label, help=explained_as)


def show_method(result: Result, study: Study) -> None:
    """Draw "Method and caveats": the methods paragraph, formulas, caveats and references.

    Args:
        result: What the study returned.
        study: Gives the formulas and caveats.
    """
    with st.expander("Method and caveats", icon=":material/menu_book:"):
        st.markdown(plain(result.methods))
        for name, formula in study.formulas.items():
            st.markdown(f"**{plain(name)}**")
            st.latex(formula)
        if study.caveats:
            points = (f"- **{point}** {text}" for point, text in study.caveats.items())
            st.markdown("\n".join([f"**{MISLEADING}**", "", *points]))
        st.markdown("\n".join(f"- {plain(reference.line)}" for reference in result.citations))
