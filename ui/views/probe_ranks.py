"""The rank sweep on the probe page, which runs when its button is pressed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import listed
from core.results.names import short_name
from core.studies.probes.trees.sweep import run_sweep, sweep_price
from ui.frame.identity import contents
from ui.frame.text import plain
from ui.study.price import word_price
from ui.study.results import show_headline, show_view
from ui.study.run_panel import Request, is_stored, run_panel

if TYPE_CHECKING:
    from core.results.export import Result
    from core.studies.probes.trees.result import ProbeResult
    from core.studies.probes.trees.spec import ProbeSpec
    from core.study import View
    from ui.study.forms import Form


SWEEP = "rank sweep"
MENU_HELP = "Choose the models, and the layer on which probes of every rank are trained."
SWEPT_HELP = "Models for which probes of every rank are trained."


def ranks_view(
    form: Form[ProbeSpec],
    spec: ProbeSpec,
    result: ProbeResult,
    view: View,
    texts: Mapping[str, bytes],
) -> None:
    """Probes of rank 1 to full at one layer, trained when the button is pressed."""
    models = [model for model in result.probes if not model.startswith("random:")] or list(
        result.probes
    )
    every = sorted({layer for model in models for layer in result.probes[model].layers})
    with form.bar, st.popover("Models and layer", icon=":material/tune:", help=MENU_HELP):
        chosen = st.multiselect(
            "Models",
            models,
            default=models[:2],
            key="probe/rank_models",
            format_func=short_name,
            help=SWEPT_HELP,
        )
        layer = st.selectbox(
            "Layer",
            ["best of each", *every],
            key="probe/rank_layer",
            help="Layer on which the probes are trained.",
        )
    layers = {
        model: result.best_layer(model) if isinstance(layer, str) else int(layer)
        for model in chosen
        if isinstance(layer, str) or layer in result.probes[model].layers
    }
    if not layers:
        st.info("Choose at least one model, and a layer that it has.", icon=":material/info:")
        return

    def run(progress: Any, signal: Any) -> Result:
        return run_sweep(spec, layers, texts, progress=progress, signal=signal)

    asked_for = (tuple(layers.items()), contents(*spec.probed, texts=texts))
    request = Request(SWEEP, spec, run, identity=asked_for)
    started: set[Hashable] = st.session_state.setdefault(form.address.key("rank sweeps"), set())
    key = (spec, asked_for)
    if key not in started and not is_stored(request):
        form.aside.empty()  # it says where the study's result is from, and there is none here
        _offer(spec, layers, form.pressed, lambda: started.add(key))
        return
    sweep = run_panel(request, told=form.aside)
    if sweep is None or sweep.table.empty:
        return
    show_headline(form, sweep)
    show_view(sweep, view, figures=view.figures, key="sweep", name="sweep")


def _offer(
    spec: ProbeSpec, layers: Mapping[str, int], again: bool, start: Callable[[], None]
) -> None:
    """What the sweep does and its price, with the button that starts it."""
    where = listed([f"layer {layer} of {short_name(model)}" for model, layer in layers.items()])
    st.markdown(
        plain(
            "Nothing is computed yet. Press the button to train probes of rank 1, 2, 4 and so on "
            f"up to full on {where}."
        )
    )
    priced = word_price(SWEEP, spec, partial(sweep_price, models=tuple(layers)), again)
    if priced is None:
        return
    if priced.refused:
        st.error(plain(priced.refused), icon=":material/error:")
        return
    if priced.asks:
        st.markdown(plain(priced.sentence))
    st.button(
        f"Sweep the rank, {priced.takes}",
        type="primary",
        icon=":material/play_arrow:",
        help="Trains all ranks of a model together; you can cancel it.",
        on_click=start,
    )
