"""Can you tell what a model was fine-tuned on from its weight update alone?"""

from __future__ import annotations

import streamlit as st

from core import options
from core.options import options_of
from core.studies.weights.clusters.members import fine_tunes
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.clusters.study import STUDY
from core.studies.weights.clusters.views import DEPTH, DISTANCES, MAP, NEIGHBOURS
from ui.choosing.hub import hub_panel
from ui.main_study import asked_for, conclude, main_result
from ui.study.forms import Form
from ui.study.models import public_models
from ui.study.results import show_headline, show_view
from ui.views import weights as weights_views
from ui.views import weights_labels, weights_map
from ui.views.weights_experiments import EXPERIMENTS

display = options.named(  # what is shown of the study: in the address, no part of the study
    layer=options.whole(
        "Layer",
        0,
        low=0,
        high=options.MOST_LAYERS,
        help="Layer highlighted in the spectra; 0 for none.",
    ),
)
form = Form(
    "weights",
    WeightsSpec,
    display=(*display, *options_of(weights_map.MapDisplay)),
    title="What was this model fine-tuned on?",
    lead="Fine-tuning changes the weights. This page compares the updates (fine-tuned minus base) "
    "of many models: if those with the most similar updates share a task more often than chance, "
    "the task can be predicted from the weights alone.",
    studies=[STUDY],
    experiments=EXPERIMENTS,
)


def controls() -> dict[str, bytes]:
    """Draw the options of the study; return the uploaded label table."""
    help_of_vector = {"help": weights_views.VECTORS_HELP}
    form.row({"base": 3, "models": 6, "vector": 2}, vector=help_of_vector)
    form.rest()
    with st.container(horizontal=True):
        form.button()
        public_models(form.address, "weights")
        with st.popover("Labels", icon=":material/label:"):
            return weights_labels.label_table(form)


def below() -> None:
    """Draw where models come from: the Hub, or one of the reader's own."""
    hub_panel(form.address)
    weights_labels.own_model(form)


texts = form.draw(controls) or {}
spec, view = asked_for(form, below, map="pca")
refs = (spec.base, *(str(entry["ref"]) for entry in fine_tunes()))
result = main_result(form, spec, refs, texts, name="weights")
show_headline(form, result, weights_labels.sentence_of(result, view))
if spec.labels:
    weights_labels.show_label_notices(result)
if view.key == NEIGHBOURS:
    weights_views.neighbours_view(result, view)
elif view.key == DISTANCES:
    show_view(result, view, figures=STUDY.figures, key="distances", fold="Table: distances")
elif view.key == DEPTH:
    weights_views.depth_view(form, result, view)
elif view.key == MAP:
    weights_map.map_view(form, result, view, weights_map.redrawing(spec, result, refs, texts))
else:
    show_view(result, view, figures=STUDY.figures, key="votes")
conclude(form, spec, result)
