"""What a token map is of: who reads the passage, which word is chosen, the words nearest to it, and
the passage around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.models.zoo import READING, read_adapters
from core.options import options_of
from core.results.names import short_name, short_names
from core.results.numbers import text_of
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.tokens.charts import ROLE_COLOURS
from core.studies.rsa.tokens.neighbours import neighbour_rows, neighbour_sentence, shared_words
from core.studies.rsa.tokens.questions import OTHER
from core.studies.rsa.tokens.spec import TokenMapSpec
from ui.frame.links import Address
from ui.frame.shell import page_theme
from ui.study.controls import KEPT
from ui.study.figures import paired_colours

if TYPE_CHECKING:
    from core.results.export import Result

ROW_NOW = ' class="now"'  # of the layer that is shown


def asked_for(address: Address, spec: RsaSpec) -> TokenMapSpec:
    """Return the token map that the address asks for, of the models of the page's study. Raises
    SpecError if a value in the address is none of its option's."""
    arguments = {
        option.name: address[option.name]
        for option in options_of(TokenMapSpec)
        if option.name != "models"
    }
    return TokenMapSpec((spec.base, *_read_by(address, spec)), **arguments)


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


def _words_of(result: Result) -> dict[int, tuple[str, str]]:
    """Word and role by place in question and passage."""
    words = result.table.drop_duplicates("position").sort_values("position")
    pairs = zip(words["word"], words["role"], strict=True)
    return dict(zip(map(int, words["position"]), pairs, strict=True))


def chosen_word(address: Address, result: Result) -> int | None:
    """The place of the word that the address names; None for none, or one that is not drawn."""
    place = int(address["word"]) - 1
    return place if place in _words_of(result) else None


def word_at(address: Address, point: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the word that was clicked; none where it was chosen already."""
    if "position" not in point:
        return {}
    number = int(point["position"]) + 1
    return {"word": 0 if number == address["word"] else number}


def word_box(address: Address, result: Result) -> None:
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
        here = ROW_NOW if at == layer else ""
        lines.append(f'<tr{here}><th scope="row">{at}</th>{cells}{shared}</tr>')
    word = escape(_words_of(result)[place][0])
    st.html(
        f'<p class="near-said">{escape(neighbour_sentence(result, place, layer, models))}</p>'
        + _table(
            f"Words nearest to {word}",
            f"{heads}{'<th scope=col>Shared</th>' if pair else ''}",
            lines,
        )
    )


def _table(label: str, heads: str, lines: Sequence[str]) -> str:
    """Write a table with a row per layer."""
    return (
        f'<div class="near" tabindex="0" role="region" aria-label="{label}"><table>'
        f'<thead><tr><th scope="col">Layer</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def show_answers(result: Result, layer: int) -> None:
    """Show which words of the passage each model answers with, a row per layer, one of them marked;
    nothing without a model that answers."""
    spans = result.tables.get("spans")
    for model, rows in () if spans is None else spans.groupby("model", sort=False):
        label = f"Answer of {short_name(str(model))}"
        lines = [
            f'<tr{ROW_NOW if row.layer == layer else ""}><th scope="row">{row.layer}</th>'
            f"<td>{escape(row.span)}</td><td>{text_of(row.chance, 'probability')}</td></tr>"
            for row in rows.itertuples()
        ]
        heads = f"<th scope=col>{escape(label)}</th><th scope=col>Probability</th>"
        st.html(_table(escape(label), heads, lines))


def passage_text(result: Result, place: int | None) -> str:
    """Write question and passage as text, each word underlined in the colour of its role, and the
    chosen one, if there is one, marked."""
    colours = paired_colours() if page_theme() == "dark" else {}
    words = []
    for spot, (word, role) in _words_of(result).items():
        colour = ROLE_COLOURS[role]
        look = "" if role == OTHER else f' style="border-color:{colours.get(colour, colour)}"'
        text = escape(word)
        words.append(f"<span{look}>{f'<mark>{text}</mark>' if spot == place else text}</span>")
    return f'<p class="passage">{" ".join(words)}</p>'
