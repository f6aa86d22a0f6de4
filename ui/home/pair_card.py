"""The home page's card that compares one model with its base and makes a report."""

from __future__ import annotations

import re
from typing import cast

import streamlit as st

from core.commands.pair_study import PairResult, PairSpec, look_at, run_pair_study
from core.errors import PalimpsestError
from core.models import read_manifest
from core.models.hub.collections import PRESETS
from core.options import options_of
from ui.frame.identity import contents
from ui.frame.text import plain
from ui.study.run_panel import Request, run_panel

FOLDER = re.compile(r"^(?:[/~\\]|\.\.?[/\\]|[A-Za-z]:[/\\])")  # how one begins without path:
LOOKED, ASKED = "pair/looked", "pair/asked"


def show_pair_card() -> None:
    """Draw the choice of two models, a check of the pair, and the button that makes its report."""
    offered = [
        *(str(entry["ref"]) for entry in read_manifest()),
        *(preset.ref for preset in PRESETS),
    ]
    with st.form("pair", border=True):
        places = st.columns([4, 4, 3], vertical_alignment="bottom")
        chosen = [
            place.selectbox(
                option.label,
                offered,
                index=offered.index(option.default) if option.default in offered else None,
                key=f"pair/{option.name}",
                accept_new_options=True,
                help=option.help,
            )
            for place, option in zip(places, options_of(PairSpec), strict=False)
        ]
        pressed = places[2].form_submit_button("Check the pair", icon=":material/compare_arrows:")
    if pressed:
        try:
            st.session_state[LOOKED] = PairSpec(*(as_typed(str(ref or "")) for ref in chosen))
        except PalimpsestError as error:
            st.session_state.pop(LOOKED, None)
            st.error(plain(str(error)), icon=":material/error:")
    spec: PairSpec | None = st.session_state.get(LOOKED)
    with st.container():  # keeps the position of what follows on the page
        if spec is not None:
            _show(spec, pressed)


def as_typed(text: str) -> str:
    """Read a typed or pasted reference, also a folder's path without `path:` or in quotation
    marks."""
    return FOLDER.sub(r"path:\g<0>", text.strip().strip("\"'"))


def _show(spec: PairSpec, pressed: bool) -> None:
    identity = contents(spec.base, spec.model)
    look = Request(
        "pair check",
        spec,
        lambda progress, signal: look_at(spec, progress=progress, signal=signal),
        identity=("look", identity),
    )
    looked = run_panel(look, again=pressed, quiet=True)
    if looked is None:
        return
    if st.session_state.get(ASKED) != spec:
        st.markdown(plain(looked.cautioned()))
        st.caption(plain(" ".join(looked.notices)))
        st.button(
            "Make the report",
            type="primary",
            help="Runs every study that fits the pair and puts the results on one page.",
            icon=":material/description:",
            on_click=st.session_state.__setitem__,
            args=(ASKED, spec),
        )
        return
    report = Request(
        "pair report",
        spec,
        lambda progress, signal: run_pair_study(spec, progress=progress, signal=signal),
        identity=("report", identity),
    )
    result = run_panel(report, quiet=True)
    if result is None:
        return
    st.markdown(plain(result.cautioned()))
    for notice in result.notices:
        st.caption(plain(notice))
    name = f"palimpsest-{spec.base}-{spec.model}.html".replace(":", "-").replace("/", "-")
    page = cast("PairResult", result).page
    st.download_button(
        "Download the report",
        page,
        name,
        "text/html",
        icon=":material/download:",
        on_click="ignore",
    )
