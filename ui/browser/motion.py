"""Motion in maps: their points follow the slider of the layer."""

from __future__ import annotations

import json
from pathlib import Path

import streamlit as st

from core.results.drawing.maps import STAGE_BOX

SCRIPT = Path(__file__).parent / "motion.js"
SLIDER = "[class*='st-key-'][class*='-layer'] input[type='range']"  # its widget key, as a class


@st.cache_data(show_spinner=False)
def _script() -> str:
    script = SCRIPT.read_text(encoding="utf8")
    for name, value in (("__BOX__", STAGE_BOX), ("__SLIDER__", SLIDER)):
        script = script.replace(name, json.dumps(value))
    return f"<script>{script}</script>"


def show_motion() -> None:
    """Install the motion in the page; a map's points stay where they are until a slider moves."""
    with st.sidebar:
        st.html(_script(), unsafe_allow_javascript=True)
