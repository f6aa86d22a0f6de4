"""What every page shows of a result, the same way: headline, notices, the table, and method with caveats."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core.results.columns import meaning
from core.results.glossary import explained
from core.results.report import MISLEADING
from core.results.table_words import label_of, title_of_table
from ui.frame.text import plain
from ui.study.figures import show_charts

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from core.study import Study

__all__ = ["show_charts", "show_headline", "show_method", "show_table"]


LONGEST = 160  # letters that a reader takes in at a glance: two lines above a figure


def lead_of(headline: str) -> str:
    """The first sentence of a headline that is longer than two lines; the whole of a shorter one."""
    if len(headline) <= LONGEST:
        return headline
    end = headline.find(". ")
    return headline if end < 0 else headline[: end + 1]


def show_headline(result: Result, sentence: str = "", bar: DeltaGenerator | None = None) -> None:
    """The sentence that the numbers make, with its terms explained, and what else a reader of them must know.

    Args:
        result: What the study returned.
        sentence: What this view shows; the beginning of the study's headline where it is empty.
        bar: The row of the page's views, which takes the notices behind one button; below the sentence without it.
    """
    shown = cautioned(result, sentence or lead_of(result.headline.removeprefix(result.caution).lstrip()))
    show_sentence(shown)
    show_notes(result, bar, [result.headline] if shown != result.headline else [])


def cautioned(result: Result, sentence: str) -> str:
    """What a view says, after what must be said before any headline of this result."""
    return f"{result.caution} {sentence}".strip()


def show_notes(result: Result, bar: DeltaGenerator | None = None, more: Sequence[str] = ()) -> None:
    """What a reader of the numbers must know, behind one button.

    Args:
        result: What the study returned.
        bar: The row that takes the button; here without it.
        more: Sentences that come first.
    """
    notices = [*more, *result.notices]
    if notices:
        label = f"{len(notices)} note{'s' if len(notices) > 1 else ''}"
        with bar or st.container(), st.popover(label, icon=":material/info:", type="tertiary"):
            for notice in notices:
                st.markdown(f"- {plain(notice)}")


def show_sentence(sentence: str) -> None:
    """A sentence above a figure, its terms explained."""
    st.html(f'<h2 class="headline">{with_terms(sentence)}</h2>')


def with_terms(sentence: str) -> str:
    """The sentence as HTML: a term is dotted, and its meaning shows when it is pointed at, tapped, or has the focus."""
    return "".join(
        f'<span class="term" tabindex="0">{escape(piece)}<span class="meaning" role="tooltip">{escape(meaning)}</span>'
        "</span>"
        if meaning
        else escape(piece)
        for piece, meaning in explained(sentence)
    )


def show_table(table: pd.DataFrame, name: str, digits: int = 3, title: str = "") -> None:
    """A table under its title, to sort and search; an empty one is left out.

    Columns are headed by words, and say what they mean where they are pointed at; files keep the raw names.

    Args:
        table: What is shown.
        name: The table's name in the result, by which the data dictionary knows it.
        digits: Of numbers: as many as the sample supports.
        title: What stands above it, where the rows are not all of the table's.
    """
    if table.empty:
        return
    st.markdown(f"**{plain(title or title_of_table(name))}**")
    st.dataframe(
        in_words(table),
        hide_index=True,
        column_config={str(column): _column(table[column], name, digits) for column in table.columns},
        height=min(36 * (len(table) + 1) + 2, 360),
        placeholder="",
    )


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """The table with "yes" and "no" for truth values, which would be drawn as boxes to tick."""
    flags = [column for column in table.columns if set(table[column].dropna().map(type)) & {bool, np.bool_}]
    return table.assign(**{column: table[column].map({True: "yes", False: "no"}) for column in flags})


def _column(values: pd.Series, name: str, digits: int) -> Any:
    """A column's label and meaning; decimals of its numbers."""
    column = str(values.name)
    label, explained_as = label_of(name, column), meaning(name, column)
    if values.dtype.kind == "f":
        return st.column_config.NumberColumn(label, help=explained_as, format=f"%.{digits}f")
    return st.column_config.Column(label, help=explained_as)


def show_method(result: Result, study: Study) -> None:
    """ "Method and caveats": the paragraph to paste, the formulas, what would mislead, and whom to cite.

    Args:
        result: What the study returned.
        study: Whose formulas and caveats are said.
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
