"""Probe trees: structural probes by layer, and the tree that they predict for a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import streamlit as st

from core.options import named
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.study import STUDY
from core.studies.probes.trees.views import ARCS, SCORES, SENTENCE
from ui.main_study import asked_for, conclude, main_result, without_figure
from ui.study.forms import Form
from ui.study.layers import layer_option
from ui.study.models import public_models
from ui.study.results import show_headline
from ui.views.probe_experiments import EXPERIMENTS, POLAR
from ui.views.probe_ranks import ranks_view
from ui.views.probes import OPTIONS, arcs_view, scores_view
from ui.views.sentence.view import sentence_view

if TYPE_CHECKING:
    from core.studies.probes.trees.result import ProbeResult

UNTRAINED = (
    "This precomputed result came without its probes, which draw the trees: choose Recompute here "
    "in the menu. It needs the models."
)


display = named(  # what is shown of the study: in the address, no part of the study
    layer=layer_option("Layer in the Sentence view; the model's best layer by default."),
)
form = Form(
    "probe",
    ProbeSpec,
    display=(*display, *OPTIONS),
    title="Is syntax still in the fine-tuned model?",
    lead="A structural probe is a linear map after which distances between word vectors "
    "approximate distances in the dependency tree. "
    "Its accuracy shows how well each layer encodes syntax, before and after fine-tuning.",
    studies=[STUDY],
    experiments=EXPERIMENTS,
)


def controls() -> None:
    """Controls of the study's options."""
    form.row({"models": 4, "rank": 1})
    form.text()
    form.rest()
    with st.container(horizontal=True):
        form.button()
        public_models(form.address, "probe")


form.draw(controls)
spec, view = asked_for(form, train="", dev="", test="", layers=(), sweep=False)
result = cast("ProbeResult", main_result(form, spec, spec.probed, form.texts, name="probe"))
if not (result.probes or set(spec.probed) & set(result.table["model"])):
    without_figure(form, spec, result)
if view.key == SCORES:
    scores_view(form, result, view)
elif view.key == ARCS:
    arcs_view(form, result, view)
elif not result.probes:
    show_headline(form, result)
    st.info(UNTRAINED, icon=":material/info:")
elif view.key == SENTENCE:
    sentence_view(form, spec, result, view, POLAR)
else:
    ranks_view(form, spec, result, view, form.texts)
conclude(form, spec, result)
