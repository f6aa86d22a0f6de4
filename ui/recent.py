"""In the sidebar: a button that copies the link of what is shown, and the studies that were shown last, as links.

Links name parameters and never hold a text that somebody brought. On a shared instance a session sees its own studies;
on somebody's own computer it also sees those of the tabs before it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import streamlit as st

from core.limits import current_limits
from core.options import Option, Spec, options_of
from ui.text import plain

KEPT = 6
PLACE, OWN, HERE = "recent_place", "recent_studies", "page_at_hand"
LONGEST = 44  # characters of a study's words
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
button { font: inherit; font-size: .875rem; color: var(--st-text-color); background: transparent; cursor: pointer;
    border: 1px solid var(--st-border-color); border-radius: var(--st-button-radius); padding: .25rem .75rem; }
button:hover { border-color: var(--st-primary-color); color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }
"""
Link = tuple[str, str, tuple[tuple[str, tuple[str, ...]], ...]]  # page, words, parameters


@st.cache_resource(show_spinner=False)
def shown_here() -> OrderedDict[Link, None]:
    """The studies that this process showed last, the latest at the end."""
    return OrderedDict()


def show_links(page: str) -> None:
    """The button and the list.

    Args:
        page: The file of the page that is about to be drawn, such as "pages/rsa.py".
    """
    st.session_state[HERE] = page
    copy_link = st.components.v2.component("palimpsest_copy_link", html=BUTTON, css=STYLE, js=COPY)
    with st.sidebar:
        copy_link(key="copy_link")
        st.session_state[PLACE] = st.empty()
    _draw()


def note_study(spec: Any) -> None:
    """Remember a study whose result is on the page, with the page's address as it stands."""
    page = st.session_state.get(HERE, "")
    if not isinstance(spec, Spec) or not page:
        return
    given = tuple((name, tuple(st.query_params.get_all(name))) for name in st.query_params)
    link: Link = (page, words_of(spec), given)
    own: OrderedDict[Link, None] = st.session_state.setdefault(OWN, OrderedDict())
    for kept in (own, shown_here()):
        for other in [other for other in list(kept) if other[:2] == link[:2]]:
            kept.pop(other, None)  # the same study in another view: the latest stays
        kept[link] = None
        while len(kept) > KEPT:
            kept.popitem(last=False)
    _draw()


def words_of(spec: Spec) -> str:
    """What sets a study apart, in a few words: the options that are not the defaults."""
    changed = spec.changed()
    known: dict[str, Option] = {option.name: option for option in options_of(type(spec))}
    parts = [f"{known[name].label}: {_value(value)}" for name, value in changed.items()]
    text = "; ".join(parts) or "as it opens"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    parts = value if isinstance(value, tuple) else (value,)
    return ", ".join(str(part).removeprefix("zoo:") for part in parts) or "none"


def _draw() -> None:
    kept = st.session_state.get(OWN, {}) if current_limits().shared else shown_here()
    place = st.session_state.get(PLACE)
    if not kept or place is None:
        return
    from ui.shell import PAGES

    titles = {entry.path: entry for entry in PAGES}
    with place.container(gap="xxsmall"):
        st.caption("Recent studies")
        for page, words, given in reversed(list(kept)):
            if page in titles:
                st.page_link(
                    page,
                    label=plain(f"{titles[page].title}: {words}"),
                    icon=titles[page].icon,
                    query_params={name: list(values) for name, values in given},
                )
