"""The view of one sentence on the probe page: its parse and the tree that a layer predicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import streamlit as st

from core.results.names import short_name
from ui.study.controls import KEPT, draw_choice
from ui.study.experiments import experiment_result
from ui.study.layers import layer_slider, played
from ui.study.results import show_headline, show_menu
from ui.views.sentence.source import sentences_from
from ui.views.sentence.tree import show_prediction

if TYPE_CHECKING:
    from core.studies.probes.trees.result import ProbeResult, TrainedResult
    from core.studies.probes.trees.spec import ProbeSpec
    from core.study import View
    from ui.frame.links import Address
    from ui.study.experiment import Experiment
    from ui.study.forms import Form

STRUCTURAL, POLAR = "structural", "polar"
DRAWN_BY = {
    STRUCTURAL: "Structural probe",
    POLAR: "Polar probe",
}


def sentence_view(
    form: Form[ProbeSpec], spec: ProbeSpec, result: ProbeResult, view: View, polar: Experiment
) -> None:
    """Show one sentence: arcs, depths, distances and the probe's plane, at the layer of a slider.
    The arcs are those of the study's distance probe or, if chosen, of a polar probe, with heads and
    labels."""
    with form.bar:
        chosen = draw_choice(form.address, "drawn_by")
    if chosen == POLAR:
        trained = cast("TrainedResult | None", experiment_result(form, polar, spec))
        if trained is not None and trained.probes:
            show_menu(form, trained)
            played(form.address, _sentence)(form.address, trained, list(trained.probes))
        return
    drawable = models_with_trees(result)
    if not drawable:
        show_headline(form, result)
        st.info(view.missing, icon=":material/info:")
        return
    show_menu(form, result)
    played(form.address, _sentence)(form.address, result, drawable)


def models_with_trees(result: ProbeResult) -> list[str]:
    """List the models that have distance probes, which trees are drawn from."""
    return [model for model, probes in result.probes.items() if probes.distance_maps is not None]


def _sentence(address: Address, result: TrainedResult, drawable: Sequence[str]) -> None:
    headline = st.container()  # filled once the edges are predicted
    left, right = st.columns([5, 2], vertical_alignment="center")
    with left:
        source = draw_choice(address, "source")
    address.tell("sentence")
    with right:
        model = _model_control(address, drawable)
    layers = result.probes[model].layers
    best = result.best_layer(model)
    left, right = st.columns([4, 3], vertical_alignment="center")
    with right:
        layer = layer_slider(
            address,
            layers,
            best,
            "Layer whose vectors the probe reads; 0 is the embeddings. "
            f"{best} is best for {short_name(model)}.",
        )
    address.update()
    read = sentences_from(source, address, left, result, model, layer)
    if read is not None:
        show_prediction(result, read, model, layer, headline)


def _model_control(address: Address, drawable: Sequence[str]) -> str:
    """Draw the selector of the model whose vectors the probe reads."""
    offered = ["", *drawable[1:]]  # "" stands for the first
    if address["tree_of"] == drawable[0]:
        address.set("tree_of", "")
    address.among("tree_of", offered, "")
    chosen = st.selectbox(
        "Model",
        offered,
        key=address.key("tree_of"),
        format_func=lambda ref: f"Model: {short_name(ref or drawable[0])}",
        label_visibility="collapsed",
        **KEPT,
    )
    return str(chosen or drawable[0])
