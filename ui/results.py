"""What every page shows of a result, the same way: headline, notices, the table, and method with caveats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from ui.figures import show_charts
from ui.text import plain

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

__all__ = ["show_charts", "show_headline", "show_method", "show_table"]


def show_headline(result: Result) -> None:
    """The sentence that the numbers make, and below it what a reader of them must know."""
    st.markdown(f"### {plain(result.headline)}", anchors=False)
    for notice in result.notices:
        st.caption(f":material/info: {plain(notice)}")


def show_table(table: pd.DataFrame, digits: int = 3) -> None:
    """A table to sort and search, numbers with the digits that the sample supports."""
    decimals = st.column_config.NumberColumn(format=f"%.{digits}f")
    columns = {name: decimals for name in table.columns if table[name].dtype.kind == "f"}
    st.dataframe(table, hide_index=True, column_config=columns, height=min(36 * (len(table) + 1) + 2, 360))


def show_method(result: Result, caveats: str, formulas: dict[str, str] | None = None) -> None:
    """ "Method and caveats": the paragraph to paste, the formulas, what would mislead, and whom to cite.

    Args:
        result: What the study returned.
        caveats: Markdown, written by the page.
        formulas: LaTeX by the name that stands before it.
    """
    with st.expander("Method and caveats", icon=":material/menu_book:"):
        st.markdown(plain(result.methods))
        for name, formula in (formulas or {}).items():
            st.markdown(f"**{plain(name)}**")
            st.latex(formula)
        st.markdown(caveats)
        st.markdown("\n".join(f"- {plain(citation)}" for citation in result.citations))
