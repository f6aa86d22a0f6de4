"""Maps on a page: moved and enlarged, with a search that marks points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core import options
from ui.frame.links import Address
from ui.study.controls import KEPT
from ui.study.figures import on_page

if TYPE_CHECKING:
    from core.results.drawing.printing import Drawing

SEARCH = "search"  # the display option of the search
HOW_TO_MOVE = (
    "Drag to move the map, turn the wheel with Ctrl or ⌘ to zoom, double-click to reset it. "
    "Zooming shows more names."
)


def search_option(what: str) -> Any:
    """Declare the display option of the search, among points of a kind in the plural."""
    return options.line(
        f"Search {what}",
        help=f"Marks the {what} with this text in the map and fades the others; "
        "commas separate several texts.",
    )


def search_box(address: Address, *, update: bool = False) -> str:
    """Draw the field of the search; return its text, which a fragment writes into the address at
    once."""
    option = address.options[SEARCH]
    address.tell(SEARCH)
    text = st.text_input(
        option.label,
        placeholder=option.label,
        key=address.key(SEARCH),
        icon=":material/search:",
        label_visibility="collapsed",
        width=150,
        **KEPT,
    )
    written = address.key("search written")
    if update and st.session_state.setdefault(written, text) != text:
        st.session_state[written] = text
        address.update()  # not in every run: a run for an intermediate layer is no step back
    return str(text)


def movable(drawing: Drawing) -> Drawing:
    """Make what draws a map draw one that moves and zooms on the page, with its points."""
    return on_page(drawing, zooms=True, moves=True)
