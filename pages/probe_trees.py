"""Probe trees: structural probes by layer, and the tree that they predict for a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.options import Spec, options_of
from core.studies.probes.trees.result import ProbeResult
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.study import STUDY
from core.studies.probes.trees.views import ARCS, SCORES, SENTENCE
from ui import lessons
from ui.frame.identity import contents
from ui.study import pins as kept
from ui.study.experiment import view_option, views_of
from ui.study.experiments import show_experiment
from ui.study.forms import Form
from ui.study.layers import layer_option
from ui.study.models import public_models
from ui.study.price import priced_panel
from ui.study.results import show_headline, show_method
from ui.study.run_panel import request_of
from ui.views.folders import folder_picker
from ui.views.probe_experiments import EXPERIMENTS
from ui.views.probe_ranks import ranks_view
from ui.views.probe_sentence import sentence_view
from ui.views.probes import OPTIONS, arcs_view, scores_view

VIEWS = views_of(STUDY, experiments=EXPERIMENTS)


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: kept in the address, not part of the study."""

    view: str = view_option(VIEWS)
    layer: int = layer_option("Layer in the Sentence view; the model's best layer by default.")


form = Form(
    "probe",
    ProbeSpec,
    display=(*options_of(Display), *OPTIONS),
    title="Is syntax still in the fine-tuned model?",
    lead="A structural probe is a linear map after which distances between word vectors "
    "approximate distances in the dependency tree. "
    "Its accuracy shows how well each layer encodes syntax, before and after fine-tuning.",
    views=VIEWS,
    experiments=EXPERIMENTS,
)


def controls() -> None:
    """Controls of the study's options."""
    left, right = st.columns([4, 1])
    with left:
        form.control("models")
    with right:
        form.control("rank")
    form.text()
    form.rest()
    with st.container(horizontal=True):
        form.button()
        public_models(form.address, "probe")


form.draw(controls)
folder_picker(form, ProbeSpec)
asked = form.spec(train="", dev="", test="", layers=(), sweep=False)
if asked is None:
    st.stop()
spec = asked
view = form.view()
if form.experiment is not None:
    show_experiment(form, form.experiment, spec)
    st.stop()
texts, identity = form.texts, contents(*spec.probed, texts=form.texts)
request = request_of(STUDY, spec, texts, name="probe", identity=identity)
result = priced_panel(form, request, STUDY.price)
if not isinstance(result, ProbeResult):
    form.without_result()
form.say_read(spec, result)
if not result.probes:
    show_headline(form, result)
    form.unfold(spec)
    st.stop()
if view.key == SCORES:
    scores_view(form, result, view)
elif view.key == ARCS:
    arcs_view(form, result, view)
elif view.key == SENTENCE:
    sentence_view(form, spec, result, view)
else:
    ranks_view(form, spec, result, view, texts, identity)
kept.beside(form, spec, result, STUDY)
lessons.conclude(form.address, result)
show_method(result, STUDY)
