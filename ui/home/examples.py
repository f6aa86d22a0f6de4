"""The home page's findings, from precomputed results: one large figure, and examples as cards,
each with a small one.

Nothing is computed for them and nothing heavy is imported: figure and sentence were stored when the
precomputed results were made. A card without a stored finding is only a link.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.commands.examples.every import EXAMPLES, STORY, Example
from core.commands.precomputed import read_cards
from core.models import read_manifest
from core.results.drawing.style import GREY
from core.results.numbers import labels_of
from ui.frame import shell
from ui.frame.shared import made_once
from ui.frame.text import plain
from ui.study.figures import draw_spec, paired_colours, show_spec, themed, with_arrow_data
from ui.study.models import shelved_entries, show_real_models
from ui.study.results import show_sentence

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

MORE = "More examples, and real models"
ACROSS = 4
HEIGHT = 110  # pixels of a small figure
LARGE = 460  # of the large one with its legend; its place is kept until it is drawn
WITHIN = {"autosize": {"type": "fit", "contains": "padding"}}  # rows of the legend too
STEPS = 12  # line segments of an arc
LEGEND = {
    **{"orient": "bottom", "title": None, "columns": 1, "offset": 0, "rowPadding": 0},
    **{
        "symbolType": "stroke",
        "symbolSize": 120,
        "symbolStrokeWidth": 2,
        "labelFontSize": 11,
        "labelLimit": 180,
    },
}
NAMES = {
    "labelLimit": 110,
    "labelFontSize": 10,
    "labelOverlap": False,
    "domain": False,
    "ticks": False,
}


def show_story() -> None:
    """Draw the large figure below its finding, with a link to its page; nothing if it is not
    stored."""
    card = read_cards().get(STORY.name)
    if card is None:
        return
    show_sentence(card["sentence"])
    spec = _drawn(STORY, card, lambda: with_arrow_data(card["figure"]))
    show_spec({**spec, **WITHIN}, key=f"card_{STORY.name}", height=LARGE)
    st.caption(f"{_capitalised(card['axis'])}.")
    st.page_link(
        shell.file_of(STORY.page),
        label=f"**Open the {STORY.title[:1].lower()}{STORY.title[1:]}**",
        icon=":material/arrow_forward:",
        query_params=STORY.query(),
    )


def show_examples() -> None:
    """Draw a fold with all cards, four per row on a wide screen, and links to results of real
    models; nothing is drawn into it until it is opened."""
    with st.expander(MORE, key="more_examples", on_change="rerun") as fold:
        if fold.open:
            if read_manifest():
                _show_cards()
            if shelved_entries():
                st.subheader("Real models", anchor=False)
                st.markdown(
                    "Results of models that are not included. They open without the models; "
                    "*Recompute here* reads the models again."
                )
                show_real_models()


def show_questions() -> None:
    """Draw a card of each page's question."""
    asking = [entry for entry in shell.PAGES if entry.question]
    for place, entry in zip(st.columns(len(asking), gap="small"), asking, strict=True):
        with _card(place, entry.title):
            st.page_link(shell.file_of(entry.path), label=f"**{entry.question}**", icon=entry.icon)
            st.caption(entry.title)


def _card(place: DeltaGenerator, name: str) -> DeltaGenerator:
    """Make a card whose link is the whole card, see page.css."""
    key = f"open_{name.replace(' ', '_')}"
    return place.container(border=True, height="stretch", gap="small", key=key)


def _show_cards() -> None:
    cards = read_cards()
    icons = {entry.path: entry.icon for entry in shell.PAGES}
    for start in range(0, len(EXAMPLES), ACROSS):
        places = st.columns(ACROSS, gap="small")
        for place, example in zip(places, EXAMPLES[start : start + ACROSS], strict=False):
            with _card(place, example.name):
                st.page_link(
                    shell.file_of(example.page),
                    label=f"**{plain(example.title)}**",
                    icon=icons[example.page],
                    icon_position="right",
                    query_params=example.query(),
                    width="stretch",
                )
                if example.name in cards:
                    _show_finding(example, cards[example.name])


def _show_finding(example: Example, card: Mapping[str, Any]) -> None:
    spec = _drawn(example, card, lambda: small_figure(card))
    st.caption(_capitalised(card["axis"]))
    draw_spec(spec, key=f"card_{example.name}", alt_text=f"{card['axis']}. {card['sentence']}")
    st.markdown(f":small[{plain(str(card['sentence']))}]")


def _drawn(
    example: Example, card: Mapping[str, Any], figure: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Give a figure the page's colours, once for all sessions."""
    theme = shell.page_theme()

    def drawn() -> dict[str, Any]:
        return themed(figure(), theme, paired_colours() if theme == "dark" else {})

    return made_once(example, ("card", card["sentence"], theme), drawn)


def _capitalised(text: str) -> str:
    return plain(text[:1].upper() + text[1:])


def small_figure(card: Mapping[str, Any]) -> dict[str, Any]:
    """Draw a finding as a Vega-Lite specification."""
    series: Sequence[Mapping[str, Any]] = card["series"]
    kinds = {"lines": _lines, "bars": _bars, "arcs": _arcs}
    padding = {"top": 5, "right": 5, "left": 5, "bottom": 0}
    return {"width": "container", "padding": padding, **kinds[card["kind"]](series)}


def _lines(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [{"x": x, "y": y, "name": line["name"]} for line in series for x, y in line["points"]]
    return {
        "height": HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "line", "point": {"size": 14}, "tooltip": True},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": "layer",
                "axis": {"format": "d", "tickMinStep": 1},
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": None,
                "scale": {"zero": False},
                "axis": _few(),
            },
            "color": {**_colours(series), "legend": LEGEND},
            "strokeDash": {**_named(), "scale": _dashes(series), "legend": LEGEND},
        },
    }


def _bars(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = [{"value": bar["points"][0][1], "name": bar["name"]} for bar in series]
    return {
        "height": {"step": 15},
        "data": {"values": rows},
        "mark": {"type": "bar", "tooltip": True},
        "encoding": {
            "x": {"field": "value", "type": "quantitative", "title": None, "axis": _few()},
            "y": {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": NAMES},
            "color": {**_colours(series), "legend": None},
        },
    }


def _arcs(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    rows = []
    for number, arc in enumerate(series):
        (left, side), (right, _) = sorted(arc["points"])
        for step in range(STEPS + 1):
            angle = math.pi * step / STEPS
            x = (left + right) / 2 - (right - left) / 2 * math.cos(angle)
            rows.append(
                {
                    "x": x,
                    "y": side * (right - left) * math.sin(angle),
                    "arc": number,
                    "name": arc["name"],
                }
            )
    hidden = {"title": None, "axis": None}
    return {
        "height": HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.2},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", **hidden},
            "y": {"field": "y", "type": "quantitative", **hidden},
            "detail": {"field": "arc", "type": "nominal"},
            "color": {**_colours(series), "legend": LEGEND},
        },
    }


def _named() -> dict[str, Any]:
    return {"field": "name", "type": "nominal", "sort": None}


def _dashes(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Give lines of one colour different dashes."""
    strokes = ([1, 0], [4, 2], [1, 2], [6, 2, 1, 2])
    seen: list[str] = []
    chosen = []
    for line in series:
        chosen.append(strokes[seen.count(line["colour"]) % len(strokes)])
        seen.append(line["colour"])
    return {"domain": [line["name"] for line in series], "range": chosen}


def _colours(series: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    scale = dict.fromkeys(line["name"] for line in series)
    colours = {line["name"]: line.get("colour") or GREY for line in series}
    return {
        **_named(),
        "scale": {"domain": list(scale), "range": [colours[name] for name in scale]},
    }


def _few() -> dict[str, Any]:
    return {"tickCount": 3, "grid": False, **labels_of("share")}
