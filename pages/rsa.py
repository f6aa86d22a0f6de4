"""Which layers does fine-tuning change, and how much?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core import options
from core.studies.rsa.layers.spec import RsaSpec
from core.studies.rsa.layers.study import STUDY
from core.studies.rsa.layers.views import GRID, TEXTS
from core.studies.rsa.tokens.spec import LENGTHS, TokenMapSpec
from core.studies.rsa.tokens.study import STUDY as TOKEN_MAP
from ui.main_study import asked_for, conclude, main_result
from ui.study.forms import Form
from ui.study.layers import layer_option
from ui.study.models import fine_tune_finder, public_models
from ui.study.results import show_headline, view_headline
from ui.views.maps import search_option
from ui.views.rsa import second_text, show_layers
from ui.views.rsa_experiments import EXPERIMENTS
from ui.views.tokens.view import ASKED, token_map

display = options.named(  # what is shown of the study: in the address, no part of the study
    layer=layer_option("The layer that the token map shows; the top layer at first."),
    search=search_option("words"),
    model=options.line("Model", help="The model whose map is drawn beside the base's."),
    word=options.whole(
        "Word",
        0,
        low=0,
        high=LENGTHS[1],
        help="Place of the word whose nearest words the token map lists; 0 for none.",
    ),
)
token_options = [option for option in options.options_of(TokenMapSpec) if option.name != "models"]
form = Form(
    "rsa",
    RsaSpec,
    display=(*display, *token_options),
    title="Which layers does fine-tuning change?",
    lead="Each layer of a fine-tuned model is given the base's own input: a layer that changed "
    "moves its output further than random changes do. States show from where models differ.",
    studies=[STUDY, TOKEN_MAP],
    experiments=EXPERIMENTS,
    asked=ASKED,
)


def controls() -> None:
    """Show the controls of models, measure and text."""
    form.row({"base": 3, "compare": 6, "measure": 2})
    form.text()
    form.rest()
    with st.container(horizontal=True):
        form.button()
        fine_tune_finder(form.address.key("base"))
        public_models(form.address, "rsa", "training")


form.draw(controls)
spec, view = asked_for(form, against="", against_genres=(), grid=False)
if view.name in ASKED:
    token_map(form, spec)
    st.stop()
study = replace(spec, grid=view.key == GRID)
if view.key == TEXTS:
    study = second_text(form, study)
refs = (study.base, *study.compare)
result = main_result(form, study, refs, form.texts, name="RSA", reads=spec)
show_headline(form, result, view_headline(result, view))
show_layers(form, result, view)
conclude(form, spec, result)
