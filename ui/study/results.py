"""What every page shows of a result: headline, notes, tables, and method with caveats."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core.results.columns import meaning, title_of, title_of_table
from core.results.drawing.printing import joined
from core.results.report import MISLEADING
from core.results.statements import lead_of
from core.results.words import explained
from ui import lessons
from ui.frame.naming import models_in, named_cells, names_control, names_here
from ui.frame.shared import made_once
from ui.frame.text import plain
from ui.study.controls import draw_control
from ui.study.downloads import show_downloads, slug
from ui.study.figures import on_page, show_charts

UNBROKEN = re.compile(r"\[[^\]]{1,24}\]|[\d.]+ %")  # an interval, a share: never on two lines

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from core.results.drawing.printing import Drawing
    from core.results.export import Result
    from core.study import Study, View
    from ui.study.figures import Pick
    from ui.study.forms import Form


def show_headline(form: Form[Any], result: Result, sentence: str = "") -> None:
    """Draw the view's headline, or the beginning of the study's, with its terms explained, the
    place of pinned results below it, and the page's menu with the notes."""
    shown = result.cautioned(sentence or lead_of(result.headline))
    show_sentence(shown)
    form.below_headline = st.container()
    show_menu(form, result, [result.cautioned()] if shown != result.cautioned() else [])


def view_headline(result: Result, view: View, *choices: Hashable) -> str:
    """Return the sentence of a view with these choices, written once for all sessions; "" for the
    study's."""
    names = tuple(sorted(names_here().items()))
    headline = ("headline", view.name, choices, names)
    return made_once(result, headline, lambda: view.sentence(result, *choices))


def show_figure(
    result: Result,
    view: View,
    *choices: Hashable,
    figures: Callable[[Result], Mapping[str, Any]],
    key: str = "figure",
    caption: str = "",
    name: str = "",
    lesson: str = "",
    pick: Pick | None = None,
    below: Callable[[Result], tuple[Drawing, str]] | None = None,
    more: Mapping[str, Callable[[], bytes]] | None = None,
    form: Form[Any] | None = None,
    moves: bool = False,
) -> bool:
    """Draw a view's charts with their downloads, or say why there are none; return whether there
    are. `below` draws a control below them and returns what draws the charts that it governs, and
    its value; `moves` is for points that move on the page."""
    part = ("part", view.name, choices)
    mark = lessons.mark(lesson)  # a lesson asks about all that its figure can show
    fewer = not mark and made_once(result, part, lambda: view.leaves_out(result, *choices))
    first = form is not None and fewer and not _all_rivals(form)
    drawing, shown = view.drawing(result, *choices, first=first), (view.name, *choices, first)
    if not show_charts(
        on_page(drawing, moves=moves),
        key=key,
        alt_text=result.cautioned(),
        result=result,
        view=shown,
        mark=mark,
        pick=pick,
    ):
        if view.missing:
            st.info(view.missing, icon=":material/info:")
        return False
    if below is not None:
        further, value = below(result)
        under = f"{key} below"
        show_charts(further, key=under, alt_text=result.cautioned(), result=result, view=value)
        drawing, shown, name = joined(drawing, further), (*shown, value), f"{name} {value}"
    show_downloads(
        result,
        drawing,
        lambda: figures(result),
        table=view.table,
        view=shown,
        name=name or slug((view.name, *choices)),
        caption=caption,
        more=more,
    )
    return True


def show_view(
    result: Result, view: View, *choices: Hashable, fold: str = "", **figure: Any
) -> None:
    """Draw a view's charts, as `show_figure` does, and its tables; no tables without charts."""
    if show_figure(result, view, *choices, **figure):
        show_rows(result, view, *choices, fold=fold)


def _all_rivals(form: Form[Any]) -> bool:
    """Draw the control of the rivals that are not drawn at first, among an experiment's settings or
    in the row of views; return whether all are wanted."""
    if form.settings is not None:
        form.address.tell("rivals")  # a popover is made when it is opened
    with form.settings or form.bar:
        return bool(draw_control(form.address, "rivals"))


def show_rows(result: Result, view: View, *choices: Hashable, fold: str = "") -> None:
    """Draw the tables of a view."""
    wanted = ("rows", view.name, choices, tuple(sorted(names_here().items())))
    rows = made_once(result, wanted, lambda: view.rows(result, *choices))
    show_tables(rows, fold)


def show_tables(rows: Mapping[str, pd.DataFrame], fold: str = "") -> None:
    """Draw tables, by their name in the result, in an expander, titled as its only table where
    `fold` is ""; nothing if all are empty."""
    filled = {name: table for name, table in rows.items() if not table.empty}
    if not filled:
        return
    title = f"Table: {title_of_table(next(iter(filled)))}"
    with st.expander(fold or (title if len(filled) == 1 else "Tables"), icon=":material/table:"):
        for name, table in filled.items():
            show_table(table, name)


def show_menu(form: Form[Any], result: Result, more: Sequence[str] = ()) -> None:
    """Draw the page's menu: the notes on a result, after `more` sentences, and the names of its
    models."""
    with form.menu([*more, *result.notices]):
        names_control(made_once(result, "models", lambda: models_in(result)))


def show_sentence(sentence: str) -> None:
    """Draw a headline, with its terms explained; no interval and no unit begins a line alone."""
    st.html(f'<h2 class="headline">{with_terms(sentence)}</h2>')


def with_terms(sentence: str) -> str:
    """Write the sentence as HTML; a term's meaning is shown on hover, tap or focus."""
    return "".join(
        f'<span class="term" tabindex="0">{_whole(piece)}'
        f'<span class="meaning" role="tooltip">{escape(meaning)}</span></span>'
        if meaning
        else _whole(piece)
        for piece, meaning in explained(sentence)
    )


def _whole(text: str) -> str:
    return UNBROKEN.sub(r'<span class="whole">\g<0></span>', escape(text))


def show_table(table: pd.DataFrame, name: str, digits: int = 3, title: str = "") -> None:
    """Draw a table under its title, to sort and search; skip an empty one. Columns have a title and
    an explanation on the page; files keep the raw names."""
    if table.empty:
        return
    st.markdown(f"**{plain(title or title_of_table(name))}**")
    names = names_here()
    st.dataframe(
        made_once(table, tuple(sorted(names.items())), lambda: _drawn(table, names)),
        hide_index=True,
        column_config={
            str(column): _column(table[column], name, digits) for column in table.columns
        },
        height=min(36 * (len(table) + 1) + 2, 360),
        placeholder="",
    )


def _drawn(table: pd.DataFrame, names: Mapping[str, str]) -> pa.Table | pd.DataFrame:
    """Convert a table to what a browser gets; Streamlit converts one with mixed columns."""
    import pyarrow as pa

    shown = in_words(named_cells(table, names))
    try:
        return pa.Table.from_pandas(shown, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return shown


def in_words(table: pd.DataFrame) -> pd.DataFrame:
    """Write truth values as "yes" and "no", which would be drawn as checkboxes."""
    flags = [
        column
        for column in table.columns
        if (table[column].dtype.kind == "b" or table[column].dtype == object)
        and set(table[column].dropna().map(type)) & {bool, np.bool_}
    ]
    return table.assign(
        **{column: table[column].map({True: "yes", False: "no"}) for column in flags}
    )


def _column(values: pd.Series, name: str, digits: int) -> Any:
    """Return a column's title, explanation and number format."""
    column = str(values.name)
    label, explained_as = title_of(name, column), meaning(name, column)
    if values.dtype.kind == "f":
        return st.column_config.NumberColumn(label, help=explained_as, format=f"%.{digits}f")
    return st.column_config.Column(label, help=explained_as)


def show_method(result: Result, study: Study) -> None:
    """Draw "Method and caveats": the methods paragraph, formulas, caveats and references."""
    with st.expander("Method and caveats", icon=":material/menu_book:"):
        st.markdown(plain(result.methods))
        for name, formula in study.words.formulas.items():
            st.markdown(f"**{plain(name)}**")
            st.latex(formula)
        if study.caveats:
            points = (f"- **{point}** {text}" for point, text in study.caveats.items())
            st.markdown("\n".join([f"**{MISLEADING}**", "", *points]))
        st.markdown("\n".join(f"- {plain(reference.line)}" for reference in result.citations))
