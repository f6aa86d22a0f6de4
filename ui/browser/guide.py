"""The guide of a first visit: up to three sentences about the first figure, never again in this
browser."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

SCRIPT = Path(__file__).parent / "guide.js"
KEY = "palimpsest guide"  # in the browser's storage
STEPS = (
    (
        ":is([class$='-fold'], [class*='-fold '])",  # the form's widget key, as a class
        "This line says which models and which text are compared. "
        "Open it to choose others, or your own.",
    ),
    (
        "[data-testid='stVegaLiteChart']:has(.mark-line)",
        "Point at a line to bring it out in every chart. "
        "Click its name to switch it off, and again to switch it on.",
    ),
    (
        ".st-key-views",
        "Each view shows the result in another way. "
        "Experiments test what could explain it otherwise.",
    ),
)


@st.cache_data(show_spinner=False)
def _script() -> str:
    script = SCRIPT.read_text(encoding="utf8")
    for name, value in (("__KEY__", KEY), ("__STEPS__", STEPS)):
        script = script.replace(name, json.dumps(value))
    return f"<script>{script}</script>"


def show_guide() -> None:
    """Install the guide in the page; the script does nothing in a browser that has shown it."""
    with st.sidebar:
        st.html(_script(), unsafe_allow_javascript=True)
