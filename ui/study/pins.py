"""Pinned results: pin a result, run another study, and see both with their differences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from core.options import Spec
from core.options.summary import summary, unlike
from core.results.differences import (
    ComparedTable,
    differences_sentence,
    result_differences,
    small_multiples,
)
from ui.frame.text import plain
from ui.study.figures import page_specs, show_spec
from ui.study.forms import Form
from ui.study.results import show_table

if TYPE_CHECKING:
    import pandas as pd

    from core.results.export import Result

NEXT = "This result is pinned. Change a setting and run: the next result is shown beside it."
MOST = 4  # pinned results of a page: each keeps its tables in memory
FULL = f"{MOST} results are pinned already. Unpin one first."
S = TypeVar("S", bound=Spec)


@dataclass(frozen=True, eq=False)
class Pinned:
    """A result that the user has pinned, with a line that summarises its study."""

    result: Result
    line: str


def beside(form: Form[S], spec: S, result: Result) -> None:
    """Draw the button that pins this result; show a pinned one beside it as small multiples, with
    their differences: below the headline."""
    this = Pinned(result, summary(spec, result.sentences_read))
    pins: list[Pinned] = st.session_state.setdefault(form.address.key("pins"), [])
    _pin_button(form, pins, this)
    others = [pin for pin in pins if pin.result is not result]
    if others:
        place = form.below_headline or st.container()
        with place.container(border=True, key=form.address.key("beside")):
            _show(form, pins, _chosen(form, others), this)


def _pin_button(form: Form[S], pins: list[Pinned], this: Pinned) -> None:
    """Draw the button that pins this result; it says so once the result is pinned."""
    is_pinned = any(pin.result is this.result for pin in pins)
    full = len(pins) >= MOST
    help_text = (
        "Keeps this result on the page and shows the next one beside it, with the difference of "
        f"the two. You can pin up to {MOST} results."
    )
    pressed = form.menu().button(
        "Pinned" if is_pinned else "Pin",
        key=form.address.key("is pinned" if is_pinned else "pin"),
        icon=":material/keep:",
        type="tertiary",
        disabled=is_pinned or full,
        help=NEXT if is_pinned else FULL if full else help_text,
    )
    if pressed:
        pins.append(this)
        st.rerun()


def _chosen(form: Form[S], others: list[Pinned]) -> Pinned:
    """Return the pinned result that is compared; with several, the one that the user chooses."""
    if len(others) == 1:
        return others[0]
    chosen = st.selectbox(
        "Pinned result",
        range(len(others)),
        index=len(others) - 1,  # the latest
        format_func=lambda place: f"{place + 1}. {others[place].line}",
        key=f"{form.address.key('compared')} of {len(others)}",
        help="Chooses the pinned result that is shown beside this one.",
    )
    return others[chosen]


def _show(form: Form[S], pins: list[Pinned], pinned: Pinned, this: Pinned) -> None:
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.markdown("**Pinned result and this result**")
    key = form.address.key("unpin")
    if right.button("Unpin", key=key, icon=":material/close:", type="tertiary"):
        pins.remove(pinned)
        st.rerun()
    why, table = unlike(form.study.Spec, pinned.result.spec, this.result.spec), None
    compared = form.study.compared
    if not why and compared is not None:
        table = result_differences(pinned.result, this.result, compared)
        sentence = differences_sentence(table, compared.kind)
        why = f"This result minus the pinned one: {sentence}"
    st.markdown(plain(why))
    if compared is not None:
        _multiples(form, pinned, this, compared, table)
    if table is not None and len(table):
        with st.expander("Table of differences", icon=":material/table:"):
            st.caption(
                "Each row is this result minus the pinned one. The 95 % intervals treat the two "
                "results as independent and hold for all rows together; if both read the same "
                "sentences, they are wider than necessary."
            )
            show_table(table, "differences", title="Differences")


def _multiples(
    form: Form[S],
    pinned: Pinned,
    this: Pinned,
    compared: ComparedTable,
    table: pd.DataFrame | None,
) -> None:
    """Draw what is compared of both results, and the differences, beside each other."""
    drawing = partial(small_multiples, pinned.result, this.result, compared, table)
    captions = (pinned.line, this.line, "Bands: 95 %, for all differences together.")
    specs = page_specs(drawing, key="pinned")  # of two results: what one owns would keep the other
    for number, (place, spec) in enumerate(
        zip(st.columns(len(specs), gap="medium"), specs, strict=True)
    ):
        with place:
            show_spec(spec, key=f"{form.address.page}_pinned_{number}")
            st.caption(plain(captions[number]))
