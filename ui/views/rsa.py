"""The views of the RSA page: curves, grid, two texts with a control of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.study import STUDY
from core.studies.rsa.tokens.study import STUDY as TOKENS_STUDY
from ui.frame.links import Address
from ui.study.controls import TEXTS
from ui.study.forms import Form
from ui.study.layers import Picking
from ui.study.results import show_view

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import View


SAME = "the same text"
DEMO = TEXTS[0]
OTHER_GENRES = ("legal", "technical")


def second_text(form: Form[RsaSpec], spec: RsaSpec) -> RsaSpec:
    """Show the controls of the second text, and return the spec with it."""
    _propose_text(form.address, spec.corpus)
    with (
        form.bar,
        st.popover("Compare texts", icon=":material/text_compare:", help="Choose the second text."),
        st.form(form.address.key("second text"), border=False),
    ):
        form.control("against", anew=True, format_func=lambda ref: ref or SAME)
        form.control("against_genres", anew=True)
        choose = partial(_choose_text, form.address)
        st.form_submit_button("Compare", type="primary", on_click=choose)
    chosen = form.spec(grid=False)
    if chosen is None:
        st.stop()
    return replace(spec, against=chosen.against, against_genres=chosen.against_genres)


def _propose_text(address: Address, corpus: str) -> None:
    """Propose a second text, until the user chooses one: other genres of an included text, and the
    included text for any other, whose genres nobody knows."""
    included = corpus in TEXTS
    genres = list(OTHER_GENRES) if included else []
    proposal = {"against": "" if included else DEMO, "against_genres": genres}
    values = {name: address[name] for name in proposal}
    if not any(values.values()) or all(
        value == address.proposed(name) for name, value in values.items()
    ):
        for name, value in proposal.items():
            address.propose(name, value)


def _choose_text(address: Address) -> None:
    """Note that the user has chosen the second text: the link then holds its name and genres."""
    names = ("against", "against_genres")
    if any(address[name] != address.proposed(name) for name in names):
        for name in names:
            address.chosen(name)


def _token_map_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the token map of the layer and the model that were clicked."""
    if "layer" not in point:
        return {}
    model = {"model": str(point["model"])} if point.get("model") else {}
    return {"view": TOKENS_STUDY.title, "layer": int(point["layer"])} | model


def show_layers(form: Form[RsaSpec], result: Result, view: View) -> None:
    """Show the view's charts, their downloads and their table."""
    show_view(
        result,
        view,
        figures=STUDY.figures,
        caption="A point or a cell opens the token map at its layer.",
        name=f"{view.name} {result.spec['measure']}",
        lesson=form.address.page if view is STUDY.views[0] else "",
        pick=Picking(form.address, ("layer", "model"), _token_map_at).made,
        form=form,
    )
