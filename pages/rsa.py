"""Which layers does fine-tuning change, and how much?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from core import options
from core.options import Spec, options_of
from core.rsa.layers.spec import RsaSpec
from core.rsa.layers.study import STUDY
from core.rsa.tokens.spec import TokenMapSpec
from core.rsa.tokens.study import STUDY as TOKEN_MAP
from ui import lessons
from ui.frame.identity import contents
from ui.study import pins as kept
from ui.study.experiments import show_experiment, views_of
from ui.study.forms import Form
from ui.study.layers import layer_option
from ui.study.models import fine_tune_finder, public_models
from ui.study.price import priced_panel
from ui.study.results import show_method, show_view_headline
from ui.views import rsa as rsa_views
from ui.views.folders import folder_picker
from ui.views.maps import search_option
from ui.views.rsa import CURVES, GRID, TEXTS, TOKENS, view_headline
from ui.views.rsa_experiments import AUDIT, DIVERGENCE, EXPERIMENTS, TRAINING

VIEWS = {
    CURVES: "similarity to the base by layer",
    GRID: "similarity of every layer of the base to every layer of the other models",
    TEXTS: "similarity to the base by layer, on two texts",
    TOKENS: "the words of a passage at each layer, in two dimensions",
    **views_of(EXPERIMENTS),
}
OVER_TRAINING = (TRAINING, DIVERGENCE, AUDIT)
GROUPS = {
    "Layers": (CURVES, GRID, TEXTS, TOKENS),
    "Training": OVER_TRAINING,
    "Experiments": tuple(name for name in EXPERIMENTS if name not in OVER_TRAINING),
}


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: in the address, no part of the study."""

    view: str = options.choice("View", CURVES, VIEWS, help="The figure that is shown.")
    layer: int = layer_option("The layer that the token map shows; the top layer at first.")
    search: str = search_option("words")


token_options = [option for option in options_of(TokenMapSpec) if option.name != "models"]
form = Form(
    "rsa",
    RsaSpec,
    display=(*options_of(Display), *token_options),
    title="Which layers does fine-tuning change?",
    lead="Every model reads the same words. Where its similarity to the base falls, the "
    "fine-tuned model represents them differently from the pretrained one.",
    experiments=EXPERIMENTS,
    how_to_read={**STUDY.how_to_read, **TOKEN_MAP.how_to_read},
)


def controls() -> None:
    """Show the controls of models, measure and text."""
    left, middle, right = st.columns([3, 6, 2])
    with left:
        form.control("base")
    with middle:
        form.control("compare")
    with right:
        form.control("measure")
    form.text()
    form.rest()
    with st.container(horizontal=True):
        form.button()
        fine_tune_finder(form.address.key("base"))
        public_models(form.address, {"rsa": {}, "training": {"view": TRAINING}})


form.draw(controls)
folder_picker(form, RsaSpec)
spec = form.spec(against="", against_genres=(), grid=False)
if spec is None:
    st.stop()
view = form.view(GROUPS)
if view == TOKENS:
    rsa_views.token_map(form, spec)
    st.stop()
if form.experiment is not None:
    show_experiment(form, form.experiment, spec)
    st.stop()
study = replace(spec, grid=view == GRID)
if view == TEXTS:
    study = rsa_views.second_text(form, study)
texts = form.texts
outcome = priced_panel(
    form,
    "RSA",
    study,
    lambda progress, signal: STUDY.run(study, texts, progress=progress, signal=signal),
    STUDY.price,
    identity=(form.identity, contents(study.base, *study.compare)),
    again=form.pressed,
    told=form.aside,
)
if outcome is None:
    form.without_result()
result = outcome
form.say_read(spec, result)
show_view_headline(result, view, view_headline, form.bar)
if not len(result.table):
    form.unfold(spec)
    st.stop()
rsa_views.draw(form, result, view)
kept.beside(form, spec, result, STUDY.figures)
lessons.conclude(form.address, result)
show_method(result, STUDY)
