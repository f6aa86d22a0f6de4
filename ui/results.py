"""What every page shows of a result, the same way: headline, notices, the table, and method with caveats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from ui.text import plain

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from core.export import Result


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


def show_charts(charts: Sequence[alt.TopLevelMixin], *, key: str, across: int = 2, alt_text: str = "") -> None:
    """Charts in rows, one below the other on a telephone.

    Args:
        charts: Each stretches to its place.
        key: Unique on the page.
        across: How many beside each other.
        alt_text: What the charts show, for those who do not see them.
    """
    for start in range(0, len(charts), across):
        row = charts[start : start + across]
        for number, (place, chart) in enumerate(zip(st.columns(across if len(charts) > 1 else 1), row, strict=False)):
            place.altair_chart(chart, key=f"{key}_{start + number}", alt=alt_text or None)
