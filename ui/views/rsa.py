"""The views of the RSA page: curves, grid, two texts with a control of their own, and the token
map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import options_of
from core.results.names import short_names
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.study import STUDY as LAYERS
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.rsa.tokens.study import STUDY
from ui import lessons
from ui.frame.identity import contents
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.controls import TEXTS
from ui.study.downloads import show_downloads
from ui.study.figures import show_charts
from ui.study.forms import Form
from ui.study.layers import Picking, layer_slider, played
from ui.study.price import priced_panel
from ui.study.results import show_headline, show_method, show_rows, show_view
from ui.study.run_panel import request_of
from ui.views.maps import HOW_TO_MOVE, search_box

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.panels import Drawn
    from core.results.export import Result
    from core.study import View


SAME = "the same text"
DEMO = TEXTS[0]
OTHER_GENRES = ("legal", "technical")
TOKENS = STUDY.title


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


def token_map(form: Form[RsaSpec], spec: RsaSpec) -> None:
    """Show the words of a passage through the layers, in the base and in the compared models.

    Args:
        form: The page's.
        spec: The study on the page, whose models are shown.
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
        tokens = TokenMapSpec((spec.base, *spec.compare), **arguments)
    except PalimpsestError as error:
        st.info(plain(str(error)), icon=":material/info:")
        return
    request = request_of(STUDY, tokens, name="token map", identity=contents(*tokens.models))
    result = priced_panel(form, request, STUDY.price, again=again)
    if result is None:
        return
    show_headline(form, result)
    if len(result.table):
        played(form.address, _draw_layer)(form.address, result)
        show_rows(result, STUDY.views[0])
    show_method(result, STUDY)


def _token_map_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the token map of the layer that was clicked."""
    return {"view": TOKENS, "layer": int(point["layer"])} if "layer" in point else {}


def draw(form: Form[RsaSpec], result: Result, view: View) -> None:
    """Show the view's charts, their downloads and their table."""
    show_view(
        result,
        view,
        figures=LAYERS.figures,
        caption="Click a point or a cell to open the token map at its layer.",
        name=f"{view.name} {result.spec['measure']}",
        mark=lessons.mark("rsa") if view is LAYERS.views[0] else None,
        pick=Picking(form.address, ("layer",), _token_map_at).made,
        form=form,
    )
    show_rows(result, view)


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

    def moved(*, context: Context) -> Drawn:
        return maps(context=replace(context, zooms=True))

    view = (layer, wanted, *drawn)
    show_charts(moved, key="map", alt_text=result.cautioned(), result=result, view=view)
    called = f"layer {layer} {wanted} {' '.join(names[model] for model in drawn)}"
    show_downloads(
        result, maps, lambda: STUDY.figures(result), view=view, name=called, caption=HOW_TO_MOVE
    )
