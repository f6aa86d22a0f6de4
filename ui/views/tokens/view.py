"""The token map on the RSA page: the words of a passage through the layers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from core.errors import PalimpsestError
from core.results.names import short_names
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.tokens.study import STUDY
from ui.frame.links import Address
from ui.frame.text import plain
from ui.main_study import studied
from ui.study.downloads import show_downloads
from ui.study.figures import show_charts
from ui.study.forms import Form
from ui.study.layers import Picking, follow, layer_slider, played
from ui.study.results import show_headline, show_method, show_rows
from ui.views.maps import HOW_TO_MOVE, movable, search_box
from ui.views.tokens.words import (
    asked_for,
    chosen_word,
    passage_text,
    show_answers,
    show_words_near,
    word_at,
    word_box,
)

if TYPE_CHECKING:
    from core.results.export import Result

ASKED = {STUDY.title: asked_for}  # the view -> what its study is asked
QUESTION_HELP = (
    "Write a question with its passage and answer, or choose words to follow; answers by layer are "
    "below."
)


def token_map(form: Form[RsaSpec], spec: RsaSpec) -> None:
    """Show the words of a passage through the layers, in the base and in the compared models of the
    page."""
    with form.bar:
        question = st.popover("Edit passage", icon=":material/edit_note:", help=QUESTION_HELP)
    with question, st.form(form.address.key("token map"), border=False):
        for name in ("question", "passage", "answer", "supporting", "highlight"):
            form.control(name, anew=True)
        again = st.form_submit_button("Draw", type="primary")
    try:
        tokens = asked_for(form.address, spec)
    except PalimpsestError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return
    result = studied(form, STUDY, tokens, tokens.models, name="token map", again=again)
    if result is None:
        return
    show_headline(form, result)
    if len(result.table):
        played(form.address, _draw_layer)(form.address, result)
        with question:
            show_rows(result, STUDY.views[0])
    show_method(result, STUDY)


def _draw_layer(address: Address, result: Result) -> None:
    """Show the slider and its maps; nothing is computed, and the maps are the same at all layers,
    whose words they hold: in the browser the words follow the slider."""
    models = list(dict.fromkeys(result.table["model"]))
    names = short_names(tuple(models))
    top = int(result.table["layer"].max())
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        layer = layer_slider(address, list(range(top + 1)), top)
    about = "Find words, and choose the models whose maps are drawn."
    with right.popover("Words and models", icon=":material/search:", help=about):
        wanted = search_box(address, update=True)
        key = address.key("models of the map")
        usual = list(dict.fromkeys((models[0], address["model"])))
        follow(key, usual, [usual] if address["model"] in models else [])
        held = st.session_state.get(key)
        st.session_state[key] = held if held is not None and {*held} <= {*models} else models[:2]
        pressed = st.pills(
            "Models",
            models,
            selection_mode="multi",
            format_func=names.__getitem__,
            key=key,
        )
        word_box(address, result)
    drawn = [model for model in models if model in pressed] or models[:1]
    chosen = chosen_word(address, result)
    shown = (wanted, chosen, *drawn)
    show_charts(
        movable(STUDY.views[0].drawing(result, None, *shown)),
        key="map",
        alt_text=result.cautioned(),
        result=result,
        view=shown,
        pick=Picking(address, ("position",), partial(word_at, address)).made,
        at=f"layer {layer}",
    )
    st.html(passage_text(result, chosen))
    if chosen is not None:
        show_words_near(result, chosen, layer, drawn)
    show_answers(result, layer)
    called = f"layer {layer} {wanted} {' '.join(names[model] for model in drawn)}"
    show_downloads(
        result,
        STUDY.views[0].drawing(result, layer, *shown),
        lambda: STUDY.figures(result),
        view=(layer, *shown),
        name=called,
        caption=f"Click a word. {HOW_TO_MOVE}",
    )
