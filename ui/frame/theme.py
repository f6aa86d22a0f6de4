"""Light or dark: the theme of the page that is being drawn."""

from __future__ import annotations

import streamlit as st


def page_theme() -> str:
    """The theme of the page that is being drawn: "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"
