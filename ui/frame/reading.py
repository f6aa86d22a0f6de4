"""One line that says how a view's figure is read: open at the first visit, folded at the next."""

from __future__ import annotations

import streamlit as st

from core.results.templates import marked
from ui.frame.presenting import presenting

LABEL = "How to read this"
VISITED, HERE, FIRST = "views visited", "view visited now", "view visited first"


def show_reading(page: str, view: str, line: str) -> None:
    """Show the line below the views, behind its label; nothing without one, and nothing in
    presentation.

    Args:
        page: The page's name in widget keys.
        view: The view's name; a visit lasts until another view is shown.
        line: What the axes are, what their ends mean, what is grey; **bold**, *emphasis* and
            `code`.
    """
    if not line or presenting():
        return
    state = st.session_state
    visited: set[tuple[str, str]] = state.setdefault(VISITED, set())
    if state.get(HERE) != (page, view):
        state[HERE], state[FIRST] = (page, view), (page, view) not in visited
        visited.add((page, view))
    unfolded, summary = " open" if state[FIRST] else "", f"<summary>{LABEL}</summary>"
    st.html(f'<details class="reading"{unfolded}>{summary}{marked(line)}</details>')
