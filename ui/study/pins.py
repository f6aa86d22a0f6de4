"""Pinned results: pin a result, run another study, and see both with their differences."""

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
    from core.results.drawing.vega import Chart
    from core.results.export import Result

NEXT = "This result is pinned. Change a setting and run: the next result is shown beside it."
S = TypeVar("S", bound=Spec)
Figures = Callable[["Result"], Mapping[str, "Chart"]]


@dataclass(frozen=True)
class Pinned:
    """A result that the user has pinned, with a line that summarises its study."""

    result: Result
    line: str


def beside(form: Form[S], spec: S, result: Result, figures: Figures) -> None:
    """Draw the button that pins this result; show the pinned result beside this one, with their
    differences.

    Args:
        form: The page's.
        spec: Of the study.
        result: What the page shows.
        figures: Draws the figures of a result; the first is shown.
    """
    key, line = form.address.key("pinned"), summary(spec, result.sentences_read)
    pinned: Pinned | None = st.session_state.get(key)
    if pinned is None or pinned.result is not result:
        with form.bar:
            if st.button(
                "Pin",
                key=form.address.key("pin"),
                icon=":material/keep:",
                type="tertiary",
                help="Keeps this result on the page and shows the next one beside it, with the "
                "difference of the two.",
            ):
                st.session_state[key] = Pinned(result, line)
                st.rerun()
    else:
        key = form.address.key("is pinned")
        form.bar.button(
            "Pinned", key=key, icon=":material/keep:", type="tertiary", disabled=True, help=NEXT
        )
    if pinned is not None and pinned.result is not result:
        with st.container(border=True, key=form.address.key("beside")):
            _show(form, pinned, Pinned(result, line), figures)


def _show(form: Form[S], pinned: Pinned, this: Pinned, figures: Figures) -> None:
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown("**Pinned result and this result**")
    key = form.address.key("unpin")
    if right.button("Unpin", key=key, icon=":material/close:", type="tertiary"):
        del st.session_state[form.address.key("pinned")]
        st.rerun()
    table, why = result_differences(pinned.result, this.result), unlike(pinned.result, this.result)
    sentence = differences_sentence(table, this.result.study)
    st.markdown(plain(why) if why else f"This result minus the pinned one: {plain(sentence)}")
    for place, study in zip(st.columns(2, gap="medium"), (pinned, this), strict=True):
        with place:
            st.caption(plain(study.line))
            show_charts(
                partial(_first_figure, study.result, figures),
                key=f"{form.address.page}_{'pinned' if study is pinned else 'this'}",
                alt_text=study.result.headline,
                result=study.result,
            )
    if len(table):
        with st.expander("Table of differences", icon=":material/table:"):
            st.caption(
                "Each row is this result minus the pinned one. The 95 % intervals treat the two "
                "results as independent and hold for all rows together; if both read the same "
                "sentences, they are wider than necessary."
            )
            show_table(table, "differences", title="Differences")


def _first_figure(result: Result, figures: Figures) -> list[Chart]:
    return [next(iter(figures(result).values()))]
