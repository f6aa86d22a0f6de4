"""The theme of the page: light or dark."""

from __future__ import annotations

import streamlit as st


def page_theme() -> str:
    """Return the theme of the page that is being drawn: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"
