"""Probe trees: structural probes by layer, and the tree that they predict for a sentence."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import options
from core.options import Spec, options_of
from core.probes.trees.result import ProbeResult
from core.probes.trees.spec import ProbeSpec
from core.probes.trees.study import STUDY
from ui import lessons
from ui.frame.identity import contents
from ui.study import pins as kept
from ui.study.experiments import show_experiment, views_of
from ui.study.forms import Form
from ui.study.layers import layer_option
from ui.study.models import public_models
from ui.study.price import priced_panel
from ui.study.results import show_headline, show_method
from ui.views.folders import folder_picker
from ui.views.probe_experiments import EXPERIMENTS
from ui.views.probe_ranks import ranks_view
from ui.views.probe_sentence import sentence_view
from ui.views.probes import OPTIONS, SENTENCE_VIEW, arcs_view, scores_view

SCORES, ARCS, SENTENCE, RANKS = "By layer", "By arc length", SENTENCE_VIEW, "Rank"
VIEWS = {
    SCORES: "probe scores by layer, compared with baselines",
    ARCS: "scores by the distance of an edge's words, and without adjacent words",
    SENTENCE: "one sentence: its parse and the predicted tree",
    RANKS: "how many dimensions a probe needs",
    **views_of(EXPERIMENTS),
}
GROUPS = {"Trees": (SCORES, ARCS, SENTENCE, RANKS), "Experiments": tuple(EXPERIMENTS)}


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: kept in the address, not part of the study."""

    view: str = options.choice("View", SCORES, VIEWS, help="The view of the study.")
    layer: int = layer_option("Layer in the Sentence view; the model's best layer by default.")


form = Form(
    "probe",
    ProbeSpec,
    display=(*options_of(Display), *OPTIONS),
    title="Is syntax still in there?",
    lead="A structural probe is a linear map after which distances between word vectors "
    "approximate distances in the dependency tree. Its accuracy shows how well each layer encodes "
    "syntax, "
    "before and after fine-tuning.",
    experiments=EXPERIMENTS,
    how_to_read=STUDY.how_to_read,
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
        public_models(form.address, {"probe": {}})


form.draw(controls)
folder_picker(form, ProbeSpec)
asked = form.spec(train="", dev="", test="", layers=(), sweep=False)
if asked is None:
    st.stop()
spec = asked
view = form.view(GROUPS)
if form.experiment is not None:
    show_experiment(form, form.experiment, spec)
    st.stop()
texts, identity = form.texts, (form.identity, *contents(*spec.probed))
result = priced_panel(
    form,
    "probe",
    spec,
    lambda progress, signal: STUDY.run(spec, texts, progress=progress, signal=signal),
    STUDY.price,
    identity=identity,
    again=form.pressed,
    told=form.aside,
)
if not isinstance(result, ProbeResult):
    form.without_result()
form.say_read(spec, result)
if not result.probes:
    show_headline(result, bar=form.bar)
    form.unfold(spec)
    st.stop()
if view == SCORES:
    scores_view(form, result)
elif view == ARCS:
    arcs_view(form, result)
elif view == SENTENCE:
    sentence_view(form, result)
else:
    ranks_view(form, spec, result, texts, identity)
kept.beside(form, spec, result, STUDY.figures)
lessons.conclude(form.address, result)
show_method(result, STUDY)
