"""Scripts of a study's page: the guide of a first visit, up to three sentences about the first
figure, never again in this browser; and motion in maps, whose points follow the layer's slider."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from core.results.drawing.maps import STAGE_BOX

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
SLIDER = "[class*='st-key-'][class*='-layer'] input[type='range']"  # its widget key, as a class
VALUES: dict[str, dict[str, Any]] = {  # script -> what stands for its names
    "guide.js": {"__KEY__": KEY, "__STEPS__": STEPS},
    "motion.js": {"__BOX__": STAGE_BOX, "__SLIDER__": SLIDER},
}


@cache
def _script(file: str) -> str:
    script = Path(__file__).with_name(file).read_text(encoding="utf8")
    for name, value in VALUES[file].items():
        script = script.replace(name, json.dumps(value))
    return f"<script>{script}</script>"


def install_scripts() -> None:
    """Install the scripts in the page; one that is there already does nothing."""
    with st.sidebar:
        for file in VALUES:
            st.html(_script(file), unsafe_allow_javascript=True)
