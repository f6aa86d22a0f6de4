"""Can you tell what a model was fine-tuned on from its weight update alone?"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import options
from core.options import Spec, options_of
from core.studies.weights.clusters.members import fine_tunes
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.views import DEPTH, DISTANCES, NEIGHBOURS
from ui import lessons
from ui.frame.identity import contents
from ui.study import pins as kept
from ui.study.experiment import view_option, views_of
from ui.study.experiments import show_experiment
from ui.study.forms import Form
from ui.study.models import public_models
from ui.study.price import priced_panel
from ui.study.results import show_headline, show_method
from ui.study.run_panel import request_of
from ui.views import weights as weights_views
from ui.views import weights_hub, weights_map
from ui.views.folders import folder_picker
from ui.views.weights_experiments import EXPERIMENTS

VIEWS = views_of(STUDY, experiments=EXPERIMENTS)


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: part of the link, not of the study."""

    view: str = view_option(VIEWS)
    layer: int = options.whole(
        "Layer",
        0,
        low=0,
        high=options.MOST_LAYERS,
        help="Layer highlighted in the spectra; 0 for none.",
    )


form = Form(
    "weights",
    WeightsSpec,
    display=(*options_of(Display), *options_of(weights_map.MapDisplay)),
    title="What was this model fine-tuned on?",
    lead="Fine-tuning changes the weights. This page compares the updates (fine-tuned minus base) "
    "of many models: if those with the most similar updates share a task more often than chance, "
    "the task can be predicted from the weights alone.",
    views=VIEWS,
    experiments=EXPERIMENTS,
)


def controls() -> dict[str, bytes]:
    """Draw the options of the study; return the uploaded label table."""
    left, middle, right = st.columns([3, 6, 2])
    with left:
        form.control("base")
    with middle:
        form.control("models")
    with right:
        form.control("vector", help=weights_views.VECTORS_HELP)
    form.rest()
    with st.container(horizontal=True):
        form.button()
        public_models(form.address, "weights")
        with st.popover("Labels", icon=":material/label:"):
            return weights_views.label_table(form)


texts = form.draw(controls) or {}
folder_picker(form, WeightsSpec)
with form.fold:
    weights_hub.hub_panel(form.address)
    weights_views.own_model(form)
asked = form.spec(map="pca")
if asked is None:
    st.stop()
spec = asked
view = form.view()
if form.experiment is not None:
    show_experiment(form, form.experiment, spec)
    st.stop()
refs = (spec.base, *(str(entry["ref"]) for entry in fine_tunes()))
identity = contents(*refs, texts=texts)
request = request_of(STUDY, spec, texts, name="weights", identity=identity)
outcome = priced_panel(form, request, STUDY.price)
if outcome is None:
    form.without_result()
result = outcome
if not len(result.table):
    form.unfold(spec)
show_headline(form, result, weights_views.sentence_of(result, view))
if spec.labels:
    weights_views.show_label_notices(result)
if view.key == NEIGHBOURS:
    weights_views.neighbours_view(result, view)
elif view.key == DISTANCES:
    weights_views.distances_view(result, view)
elif view.key == DEPTH:
    weights_views.depth_view(form, result, view)
else:
    weights_map.map_view(form, result, view, weights_map.redrawing(spec, result, identity))
kept.beside(form, spec, result, STUDY)
lessons.conclude(form.address, result)
show_method(result, STUDY)
