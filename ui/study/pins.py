"""Hold two studies beside each other: keep this result, run another, see both and their difference with its band."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from core.options import Spec
from core.options.summary import summary
from core.results.differences import differences_sentence, result_differences, unlike
from ui.frame.text import plain
from ui.study.forms import Form
from ui.study.results import show_charts, show_table

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.vega import Chart
    from core.results.export import Result

NEXT = "Now change something and run: what comes is shown beside this result."
S = TypeVar("S", bound=Spec)
Figures = Callable[["Result", "Context"], Mapping[str, "Chart"]]


@dataclass(frozen=True)
class Kept:
    """A result that a reader holds on to, and its study in a line."""

    result: Result
    line: str


def beside(form: Form[S], spec: S, result: Result, figures: Figures) -> None:
    """A button that keeps this result, in the row of views; the kept one beside this one, with their difference.

    Args:
        form: The page's.
        spec: The study.
        result: What is on the page.
        figures: Draws the figures of a result; the first is shown.
    """
    key, line = form.address.key("kept"), summary(spec, result.sentences_read)
    kept: Kept | None = st.session_state.get(key)
    if kept is None or kept.result is not result:
        with form.bar:
            if st.button(
                "Keep",
                key=form.address.key("keep"),
                icon=":material/keep:",
                type="tertiary",
                help="Keep this result: whatever you run next is shown beside it, with the difference and its band.",
            ):
                st.session_state[key] = Kept(result, line)
                st.rerun()
    else:
        key = form.address.key("is kept")
        form.bar.button("Kept", key=key, icon=":material/keep:", type="tertiary", disabled=True, help=NEXT)
    if kept is not None and kept.result is not result:
        with st.container(border=True, key=form.address.key("beside")):
            _show(form, kept, Kept(result, line), figures)


def _show(form: Form[S], kept: Kept, this: Kept, figures: Figures) -> None:
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown("**Beside what you kept**")
    if right.button("Let go", key=form.address.key("let go"), icon=":material/close:", type="tertiary"):
        del st.session_state[form.address.key("kept")]
        st.rerun()
    table, why = result_differences(kept.result, this.result), unlike(kept.result, this.result)
    told = differences_sentence(table, this.result.study)
    st.markdown(plain(why) if why else f"This less the kept one: {plain(told)}")
    for place, study in zip(st.columns(2, gap="medium"), (kept, this), strict=True):
        with place:
            st.caption(plain(study.line))
            show_charts(
                partial(_first_figure, study.result, figures),
                key=f"{form.address.page}_{'kept' if study is kept else 'this'}",
                alt_text=study.result.headline,
                result=study.result,
            )
    if len(table):
        with st.expander("Table: differences", icon=":material/table:"):
            st.caption(
                "This less the kept one. Bands are made of the two values' own bands as if those were independent, and "
                "hold for all rows together; where both read the same sentences they are wider than they need be."
            )
            show_table(table, "differences", title="Differences")


def _first_figure(result: Result, figures: Figures, *, context: Context) -> list[Chart]:
    return [next(iter(figures(result, context).values()))]
