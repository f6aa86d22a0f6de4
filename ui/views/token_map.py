"""The token map on the RSA page: the words of a passage through the layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import options_of
from core.results.names import short_names
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.rsa.tokens.study import STUDY
from ui.frame.links import Address
from ui.frame.text import plain
from ui.main_study import studied
from ui.study.downloads import show_downloads
from ui.study.figures import show_charts
from ui.study.forms import Form
from ui.study.layers import layer_slider, played
from ui.study.results import show_headline, show_method, show_rows
from ui.views.maps import HOW_TO_MOVE, movable, search_box

if TYPE_CHECKING:
    from core.results.export import Result

TOKENS = STUDY.title


def token_map(form: Form[Any], models: tuple[str, ...]) -> None:
    """Show the words of a passage through the layers, in the base and in the compared models.

    Args:
        form: The page's.
        models: Those of the study on the page.
    """
    with (
        form.bar,
        st.popover(
            "Edit passage",
            icon=":material/edit_note:",
            help="Write a question with its passage and answer, or choose words to follow.",
        ),
        st.form(form.address.key("token map"), border=False),
    ):
        for name in ("question", "passage", "answer", "supporting", "highlight"):
            form.control(name, anew=True)
        again = st.form_submit_button("Draw", type="primary")
    try:
        arguments = {
            option.name: form.address[option.name]
            for option in options_of(TokenMapSpec)
            if option.name != "models"
        }
        tokens = TokenMapSpec(models, **arguments)
    except PalimpsestError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return
    result = studied(form, STUDY, tokens, tokens.models, name="token map", again=again)
    if result is None:
        return
    show_headline(form, result)
    if len(result.table):
        played(form.address, _draw_layer)(form.address, result)
        show_rows(result, STUDY.views[0])
    show_method(result, STUDY)


def _draw_layer(address: Address, result: Result) -> None:
    """Show the slider and its maps; nothing is computed, the result holds the coordinates of every
    layer."""
    models = list(dict.fromkeys(result.table["model"]))
    names = short_names(tuple(models))
    top = int(result.table["layer"].max())
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        layer = layer_slider(address, list(range(top + 1)), top)
    about = "Find words, and choose the models whose maps are drawn."
    with right.popover("Words and models", icon=":material/search:", help=about):
        wanted = search_box(address, update=True)
        shown = st.pills(
            "Models",
            models,
            selection_mode="multi",
            default=models[:2],
            format_func=names.__getitem__,
            key=address.key("models of the map"),
        )
    drawn = [model for model in models if model in shown] or models[:1]

    maps = STUDY.views[0].drawing(result, layer, wanted, *drawn)
    view = (layer, wanted, *drawn)
    show_charts(movable(maps), key="map", alt_text=result.cautioned(), result=result, view=view)
    called = f"layer {layer} {wanted} {' '.join(names[model] for model in drawn)}"
    show_downloads(
        result, maps, lambda: STUDY.figures(result), view=view, name=called, caption=HOW_TO_MOVE
    )
