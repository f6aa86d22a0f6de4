"""The sidebar's links: a button that copies the link of the page, and the recent studies.

Links hold settings, never an uploaded file. On a shared instance a session sees its own studies
only; on a personal computer it also sees those of other tabs, below its own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.limits import current_limits
from core.options import Spec, options_of
from ui.frame.text import plain

KEPT = 6
PLACE, OWN, HERE = "recent_place", "recent_studies", "page_at_hand"
# characters of a study's description; the list truncates it further, its help does not
LONGEST = 200
SHOWN = (  # parts of an address that say how a study is shown
    *("study", "view", "layer", "lesson", "present", "names", "metric", "selectivity", "source"),
    *("sentence", "tree_of", "drawn_by", "score", "pair", "map", "colour", "axes", "search"),
    "rivals",
)
COPY = """
export default function({ parentElement }) {
    const button = parentElement.querySelector("button");
    const words = parentElement.querySelector("span");
    button.onclick = async () => {
        const link = window.location.href;
        try {
            await navigator.clipboard.writeText(link);
        } catch {  // a browser gives its clipboard to localhost and https alone
            const field = document.createElement("textarea");
            field.value = link;
            document.body.appendChild(field);
            field.select();
            document.execCommand("copy");
            field.remove();
        }
        words.textContent = "Link copied";
        setTimeout(() => { words.textContent = "Copy link"; }, 2000);
    };
}
"""
BUTTON = '<button type="button" aria-live="polite"><span>Copy link</span></button>'
STYLE = """
button { font: inherit; font-size: .875rem; color: var(--st-text-color);
    background: transparent; cursor: pointer;
    border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius);
    padding: .25rem .75rem; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
"""
Given = tuple[tuple[str, tuple[str, ...]], ...]
Link = tuple[str, str, Given]  # page, the study's description, the address's parameters


@st.cache_resource(show_spinner=False)
def shown_here() -> OrderedDict[Link, None]:
    """Return the studies that this process showed last, the latest at the end."""
    return OrderedDict()


def show_links(page: str) -> None:
    """Draw the button and the list; `page` is the file of the page about to be drawn, such as
    "pages/rsa.py"."""
    st.session_state[HERE] = page
    copy_link = st.components.v2.component("palimpsest_copy_link", html=BUTTON, css=STYLE, js=COPY)
    with st.sidebar:
        copy_link(key="copy_link")
        st.session_state[PLACE] = st.container(key="recent").empty()
    _draw()


def note_study(spec: Any) -> None:
    """Add a study to the recent ones, with the page's present address."""
    page = st.session_state.get(HERE, "")
    if not isinstance(spec, Spec) or not page:
        return
    given = tuple((name, tuple(st.query_params.get_all(name))) for name in st.query_params)
    link: Link = (page, words_of(type(spec), given), given)
    history: OrderedDict[Link, None] = st.session_state.setdefault(OWN, OrderedDict())
    for kept in (history, shown_here()):
        for earlier in [earlier for earlier in list(kept) if earlier[:2] == link[:2]]:
            kept.pop(earlier, None)  # the same study in another view: keep the latest
        kept[link] = None
        while len(kept) > KEPT:
            kept.popitem(last=False)
    _draw()


def words_of(spec: type[Spec], given: Given) -> str:
    """Describe a study by the settings in its address; "" for a page's default study."""
    labels = {
        option.name: option.label
        for option in options_of(spec)
        if option.name not in spec.display_only
    }
    parts = [
        f"{labels.get(name, name.replace('_', ' '))}: "
        f"{', '.join(value.removeprefix('zoo:') for value in values)}"
        for name, values in given
        if name in labels or name not in SHOWN
    ]
    text = "; ".join(parts)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _view_of(given: Mapping[str, tuple[str, ...]]) -> str:
    """Return the title of the experiment in an address, or else its view."""
    from core.catalogue import STUDIES

    study = " ".join(given.get("study", ()))
    return STUDIES[study].title if study in STUDIES else " ".join(given.get("view", ()))


def _draw() -> None:
    elsewhere = [] if current_limits().shared else [*shown_here()]
    kept: dict[tuple[str, str], Link] = {}
    for link in (*reversed([*st.session_state.get(OWN, {})]), *reversed(elsewhere)):
        kept.setdefault(link[:2], link)  # the session's own first
    place = st.session_state.get(PLACE)
    if not kept or place is None:
        return
    from ui.frame.shell import PAGES, file_of

    titles = {entry.path: entry for entry in PAGES}
    with place.container(gap="xxsmall"):
        st.caption("Recent studies")
        for page, words, given in list(kept.values())[:KEPT]:
            if page not in titles:
                continue
            view = _view_of(dict(given))
            parts = filter(None, (titles[page].title, view[:LONGEST], words))
            line = ", ".join(parts).replace("`", "'")
            st.page_link(
                file_of(page),
                label=plain(line),
                icon=titles[page].icon,
                help=plain(line),
                query_params={name: list(values) for name, values in given},
            )
