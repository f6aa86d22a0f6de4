"""The views of the RSA page: curves, grid, two texts with a control of their own, and the token
map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.models.zoo import READING, read_adapters
from core.options import options_of
from core.results.names import short_names
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.study import STUDY as LAYERS
from core.studies.rsa.tokens.charts import ROLE_COLOURS
from core.studies.rsa.tokens.neighbours import neighbour_rows, neighbour_sentence, shared_words
from core.studies.rsa.tokens.questions import OTHER
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.rsa.tokens.study import STUDY
from ui import lessons
from ui.frame.identity import contents
from ui.frame.links import Address
from ui.frame.text import plain
from ui.frame.theme import page_theme
from ui.study.controls import KEPT, TEXTS
from ui.study.downloads import show_downloads
from ui.study.figures import paired_colours, show_charts
from ui.study.forms import Form
from ui.study.layers import Picking, follow, layer_slider, played
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
QUESTION_HELP = (
    "Write a question with its passage and answer, or choose words to follow; answers by layer are "
    "below."
)


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
    with form.bar:
        question = st.popover("Edit passage", icon=":material/edit_note:", help=QUESTION_HELP)
    with question, st.form(form.address.key("token map"), border=False):
        for name in ("question", "passage", "answer", "supporting", "highlight"):
            form.control(name, anew=True)
        again = st.form_submit_button("Draw", type="primary")
    models = (spec.base, *_read_by(form.address, spec))
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
    request = request_of(STUDY, tokens, name="token map", identity=contents(*tokens.models))
    result = priced_panel(form, request, STUDY.price, again=again)
    if result is None:
        return
    show_headline(form, result)
    if len(result.table):
        played(form.address, _draw_layer)(form.address, result)
        with question:
            show_rows(result, STUDY.views[0])
    show_method(result, STUDY)


def _read_by(address: Address, spec: RsaSpec) -> tuple[str, ...]:
    """The models that read the passage beside the base: where a question is asked and no model was
    chosen, in the form or in another figure, the included model that answers questions."""
    readers = [
        str(entry["ref"])
        for entry in read_adapters()
        if entry.get("task") == READING and entry.get("base") == spec.base
    ]
    unchosen = spec.compare == RsaSpec().compare and address["model"] not in spec.compare
    asks = unchosen and str(address["question"]).strip()
    return tuple(readers[:1]) if asks and readers else spec.compare


def _token_map_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the token map of the layer and the model that were clicked."""
    if "layer" not in point:
        return {}
    model = {"model": str(point["model"])} if point.get("model") else {}
    return {"view": TOKENS, "layer": int(point["layer"])} | model


def draw(form: Form[RsaSpec], result: Result, view: View) -> None:
    """Show the view's charts, their downloads and their table."""
    show_view(
        result,
        view,
        figures=LAYERS.figures,
        caption="Click a point or a cell to open the token map at its layer.",
        name=f"{view.name} {result.spec['measure']}",
        mark=lessons.mark("rsa") if view is LAYERS.views[0] else None,
        pick=Picking(form.address, ("layer", "model"), _token_map_at).made,
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
        key = address.key("models of the map")
        usual = list(dict.fromkeys((models[0], address["model"])))
        follow(key, usual, [usual] if address["model"] in models else [])
        held = st.session_state.get(key)
        st.session_state[key] = held if held is not None and {*held} <= {*models} else models[:2]
        shown = st.pills(
            "Models",
            models,
            selection_mode="multi",
            format_func=names.__getitem__,
            key=key,
        )
        _word_box(address, result)
    drawn = [model for model in models if model in shown] or models[:1]

    chosen = _chosen_word(address, result)
    maps = STUDY.views[0].drawing(result, layer, wanted, chosen, *drawn)

    def moved(*, context: Context) -> Drawn:
        return maps(context=replace(context, zooms=True))

    view = (layer, wanted, chosen, *drawn)
    pick = Picking(address, ("position",), partial(_word_at, address)).made
    show_charts(moved, key="map", alt_text=result.cautioned(), result=result, view=view, pick=pick)
    if chosen is not None:
        st.html(passage_text(result, chosen))
        show_words_near(result, chosen, layer, drawn)
    called = f"layer {layer} {wanted} {' '.join(names[model] for model in drawn)}"
    show_downloads(
        result, maps, lambda: STUDY.figures(result), view=view, name=called,
        caption=f"Click a word. {HOW_TO_MOVE}",
    )  # fmt: skip


def _words_of(result: Result) -> dict[int, tuple[str, str]]:
    """Word and role by place in question and passage."""
    words = result.table.drop_duplicates("position").sort_values("position")
    pairs = zip(words["word"], words["role"], strict=True)
    return dict(zip(map(int, words["position"]), pairs, strict=True))


def _chosen_word(address: Address, result: Result) -> int | None:
    """The place of the word that the address names; None for none, or one that is not drawn."""
    place = int(address["word"]) - 1
    return place if place in _words_of(result) else None


def _word_at(address: Address, point: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the word that was clicked; none where it was chosen already."""
    if "position" not in point:
        return {}
    number = int(point["position"]) + 1
    return {"word": 0 if number == address["word"] else number}


def _word_box(address: Address, result: Result) -> None:
    """Draw the list of words, for who does not click on the map."""
    words = _words_of(result)
    places = [0, *(place + 1 for place in words)]
    address.among("word", places, 0)
    address.tell("word")
    st.selectbox(
        "Nearest words of",
        places,
        key=address.key("word"),
        format_func=lambda place: f"{words[place - 1][0]} ({place})" if place else "no word",
        help="Lists the ten nearest words at each layer; clicking a word on the map does the same.",
        **KEPT,
    )


def show_words_near(result: Result, place: int, layer: int, models: Sequence[str]) -> None:
    """Show the words nearest to one word, a row per layer, a column per model."""
    rows, names = neighbour_rows(result, place), short_names(tuple(models))
    near = {
        (str(model), int(at)): dict(zip(group["position"], group["word"], strict=True))
        for (model, at), group in rows.groupby(["model", "layer"], sort=False)
    }
    pair = len(models) > 1
    heads = "".join(f'<th scope="col">{escape(names[model])}</th>' for model in models)
    lines = []
    for at in sorted({*rows["layer"]}):
        first = near[models[0], at]
        cells = "".join(
            "<td>"
            + " ".join(
                escape(word) if spot in first else f"<b>{escape(word)}</b>"
                for spot, word in near[model, at].items()
            )
            + "</td>"
            for model in models
        )
        shared = f"<td>{shared_words(rows, at, models[:2])}</td>" if pair else ""
        here = ' class="now"' if at == layer else ""
        lines.append(f'<tr{here}><th scope="row">{at}</th>{cells}{shared}</tr>')
    word = escape(_words_of(result)[place][0])
    st.html(
        f'<p class="near-said">{escape(neighbour_sentence(result, place, layer, models))}</p>'
        f'<div class="near" tabindex="0" role="region" aria-label="Words nearest to {word}"><table>'
        f'<thead><tr><th scope="col">Layer</th>{heads}'
        f"{'<th scope=col>Shared</th>' if pair else ''}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def passage_text(result: Result, place: int) -> str:
    """Write question and passage as text, each word underlined in the colour of its role, and the
    chosen one marked."""
    colours = paired_colours() if page_theme() == "dark" else {}
    words = []
    for spot, (word, role) in _words_of(result).items():
        colour = ROLE_COLOURS[role]
        look = "" if role == OTHER else f' style="border-color:{colours.get(colour, colour)}"'
        text = escape(word)
        words.append(f"<span{look}>{f'<mark>{text}</mark>' if spot == place else text}</span>")
    return f'<p class="passage">{" ".join(words)}</p>'
