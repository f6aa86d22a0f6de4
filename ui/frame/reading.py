"""One line that says how a view's figure is read."""

from __future__ import annotations

import streamlit as st

from core.results.templates import marked
from ui.frame.presenting import presenting

LABEL = "How to read this"


def show_reading(line: str) -> None:
    """Show the line below the views, in Markdown, after its label; nothing without one, and nothing
    in presentation."""
    if line and not presenting():
        st.html(f'<p class="reading"><b>{LABEL}</b> {marked(line)}</p>')
