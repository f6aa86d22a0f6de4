"""The page *Seed alignment*: do two pretraining seeds learn the same space, up to a bijection?"""

from __future__ import annotations

import streamlit as st

from core.options import named
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.study import STUDY
from ui.main_study import asked_for, conclude, main_result
from ui.study.forms import Form
from ui.study.layers import layer_option
from ui.study.models import public_models
from ui.views.alignment import SHOWN, show_seeds
from ui.views.alignment_experiments import EXPERIMENTS

display = named(  # what is shown of the study: in the address, no part of the study
    layer=layer_option("The layer whose space is shown; the top layer at first."),
)
form = Form(
    "alignment",
    AlignSpec,
    display=(*display, *SHOWN),
    title="Do two seeds learn the same space?",
    lead="Two models were pretrained alike, with different random seeds. "
    "If their spaces are the same up to a map, "
    "a map fitted on some words predicts the vectors of words that it has not seen.",
    studies=[STUDY],
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
spec, view = asked_for(form)
refs = (*spec.models, *spec.against)
result = main_result(form, spec, refs, form.texts, name="alignment")
show_seeds(form, result, view)
conclude(form, spec, result)
