"""The spectra of one model, in a fold below the map of the weight clustering page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.results.names import short_names
from core.studies.weights.clusters.charts.ranks import layers_of, spectrum_panels
from core.studies.weights.clusters.views import kinds_of
from core.studies.weights.unlabelled import UNLABELLED
from ui.frame import shell
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.figures import show_charts

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.panels import Panels
    from core.results.export import Result

ASKED = "weights/asked"  # models without a label when the map was drawn
SHOWN = "weights/shown_model"
SPECTRA = "weights/spectra"  # whether the fold is open
OF_HELP = "**delta**: the update, fine-tuned minus base. **weights**: the weights themselves."


def show_spectra(address: Address, result: Result, models: Sequence[str]) -> None:
    """Draw a fold with the spectra of one model, which a click on the map opens."""
    state = st.session_state
    state[SPECTRA] = bool(state.get(SPECTRA))
    name = short_names(models)[str(state[SHOWN])]
    with st.expander(
        f"Spectra of {plain(name)}", key=SPECTRA, icon=":material/show_chart:", on_change="rerun"
    ) as fold:
        if fold.open:
            _spectra(address, result, models)


def _spectra(address: Address, result: Result, models: Sequence[str]) -> None:
    names = short_names(models)
    left, middle, right = st.columns([4, 2, 5], vertical_alignment="bottom")
    model = str(
        left.selectbox(
            "Spectra of",
            models,
            key=SHOWN,
            format_func=names.__getitem__,
            help="Model whose singular values are drawn; clicking it on the map does the same.",
        )
    )
    layers = [0, *layers_of(result)]
    address.among("layer", layers, 0)
    address.tell("layer")
    layer = middle.selectbox(
        "Layer",
        layers,
        key=address.key("layer"),
        format_func=lambda layer: f"layer {layer}" if layer else "all layers",
        help="Layer to highlight; 1 is the first above the embeddings.",
    )
    base = str(result.table.set_index("model").loc[model, "base"])
    with right.container(horizontal=True):
        for path, label, link in (
            ("pages/rsa.py", "Compare its layers (RSA)", {"base": base, "compare": model}),
            ("pages/probe_trees.py", "Draw its trees (probes)", {"models": [base, model]}),
        ):
            if any(entry.path == path for entry in shell.PAGES):
                st.page_link(
                    shell.file_of(path),
                    label=label,
                    icon=":material/arrow_forward:",
                    query_params=link,
                )
    kinds = kinds_of(result)
    of = kinds[0]
    if len(kinds) > 1:
        of = str(
            st.segmented_control(
                "Of", kinds, default=of, required=True, key="weights/spectra_of", help=OF_HELP
            )
        )

    def drawn(*, context: Context) -> Panels:
        return spectrum_panels(result, model, of, layer, context=context)

    show_charts(drawn, key="spectra", result=result, view=(model, of, layer))


def ring_own(result: Result, models: Sequence[str]) -> None:
    """Ring the first model that has no label when it comes, until another is clicked."""
    state, votes = st.session_state, result.tables.get(UNLABELLED)
    asked = [] if votes is None else list(votes["model"])
    if asked and asked != state.get(ASKED):
        state[SHOWN] = asked[0]
    state[ASKED] = asked
    if state.get(SHOWN) not in models:
        state[SHOWN] = models[0]
