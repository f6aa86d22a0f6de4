"""The page *Seed alignment*: do two pretraining seeds learn the same space, up to a bijection?"""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core import options
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.study import STUDY
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
from ui.views.alignment import SHOWN, show_seeds
from ui.views.alignment_experiments import EXPERIMENTS
from ui.views.folders import folder_picker

VIEWS = views_of(STUDY, experiments=EXPERIMENTS)


@dataclass(frozen=True)
class Display(options.Spec):
    """What the page shows of the study; part of the address, not of the study."""

    view: str = view_option(VIEWS)
    layer: int = layer_option("The layer whose space is shown; the top layer at first.")


form = Form(
    "alignment",
    AlignSpec,
    display=(*options.options_of(Display), *SHOWN),
    title="Do two seeds learn the same space?",
    lead="Two models were pretrained alike, with different random seeds. "
    "If their spaces are the same up to a map, "
    "a map fitted on some words predicts the vectors of words that it has not seen.",
    views=VIEWS,
    experiments=EXPERIMENTS,
)


def controls() -> None:
    """Draw the controls of the study."""
    left, right = st.columns([3, 4])
    with left:
        form.control("models")
        form.control("split")
    with right:
        form.control("methods")
    form.text()
    form.rest()
    with st.container(horizontal=True):
        form.button()
        public_models(form.address, "align")


form.draw(controls)
folder_picker(form, AlignSpec)
spec = form.spec()
if spec is None:
    st.stop()
view = form.view()
if form.experiment is not None:
    show_experiment(form, form.experiment, spec)
    st.stop()
study, texts = spec, form.texts
refs = (*study.models, *study.against)
identity = contents(*refs, texts=texts)
request = request_of(STUDY, study, texts, name="alignment", identity=identity)
outcome = priced_panel(form, request, STUDY.price)
if outcome is None:
    form.without_result()
result = outcome
form.say_read(spec, result)
if not len(result.table):
    show_headline(form, result)
    form.unfold(spec)
    st.stop()
show_seeds(form, result, view)
kept.beside(form, spec, result, STUDY)
lessons.conclude(form.address, result)
show_method(result, STUDY)
