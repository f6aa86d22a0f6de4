"""Which layers does fine-tuning change, and how much?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from core import options
from core.options import Spec, options_of
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.study import STUDY
from core.studies.rsa.layers.views import GRID, TEXTS
from core.studies.rsa.tokens.spec import TokenMapSpec
from core.studies.rsa.tokens.study import MOST_WORDS
from core.studies.rsa.tokens.study import STUDY as TOKEN_MAP
from ui import lessons
from ui.frame.identity import contents
from ui.study import pins as kept
from ui.study.experiment import view_option, views_of
from ui.study.experiments import show_experiment
from ui.study.forms import Form
from ui.study.layers import layer_option
from ui.study.models import fine_tune_finder, public_models
from ui.study.price import priced_panel
from ui.study.results import show_headline, show_method, view_headline
from ui.study.run_panel import request_of
from ui.views import rsa as rsa_views
from ui.views.folders import folder_picker
from ui.views.maps import search_option
from ui.views.rsa import TOKENS
from ui.views.rsa_experiments import EXPERIMENTS

VIEWS = views_of(STUDY, TOKEN_MAP, experiments=EXPERIMENTS)


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: in the address, no part of the study."""

    view: str = view_option(VIEWS)
    layer: int = layer_option("The layer that the token map shows; the top layer at first.")
    search: str = search_option("words")
    model: str = options.line("Model", help="The model whose map stands beside the base's.")
    word: int = options.whole(
        "Word",
        0,
        low=0,
        high=MOST_WORDS,
        help="Place of the word whose nearest words the token map lists; 0 for none.",
    )


token_options = [option for option in options_of(TokenMapSpec) if option.name != "models"]
form = Form(
    "rsa",
    RsaSpec,
    display=(*options_of(Display), *token_options),
    title="Which layers does fine-tuning change?",
    lead="Every model reads the same words. Where its similarity to the base falls, "
    "the fine-tuned model represents them differently from the pretrained one.",
    views=VIEWS,
    experiments=EXPERIMENTS,
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
        public_models(form.address, "rsa", "training")


form.draw(controls)
folder_picker(form, RsaSpec)
spec = form.spec(against="", against_genres=(), grid=False)
if spec is None:
    st.stop()
view = form.view()
if view.name == TOKENS:
    rsa_views.token_map(form, spec)
    st.stop()
if form.experiment is not None:
    show_experiment(form, form.experiment, spec)
    st.stop()
study = replace(spec, grid=view.key == GRID)
if view.key == TEXTS:
    study = rsa_views.second_text(form, study)
texts = form.texts
identity = contents(study.base, *study.compare, texts=texts)
request = request_of(STUDY, study, texts, name="RSA", identity=identity)
outcome = priced_panel(form, request, STUDY.price)
if outcome is None:
    form.without_result()
result = outcome
form.say_read(spec, result)
show_headline(form, result, view_headline(result, view))
if not len(result.table):
    form.unfold(spec)
    st.stop()
rsa_views.draw(form, result, view)
kept.beside(form, spec, result, STUDY)
lessons.conclude(form.address, result)
show_method(result, STUDY)
