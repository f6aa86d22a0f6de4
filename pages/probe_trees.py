"""Is syntax still in there? Structural probes by layer, and the tree that the vectors predict beside the parse."""

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
from ui.study.price import priced_panel
from ui.study.results import show_headline, show_method
from ui.views.probe_experiments import EXPERIMENTS
from ui.views.probe_ranks import ranks_view
from ui.views.probes import OPTIONS, SENTENCE_VIEW, scores_view, sentence_view

SCORES, SENTENCE, RANKS = "By layer", SENTENCE_VIEW, "Rank"
VIEWS = {
    SCORES: "scores of every layer",
    SENTENCE: "one sentence: the parse beside the predicted tree",
    RANKS: "how many dimensions a probe needs",
    **views_of(EXPERIMENTS),
}


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: in the address, no part of the study."""

    view: str = options.choice("View", SCORES, VIEWS, help="What is drawn.")
    layer: int = layer_option("Of the sentence; the model's best at first.")


form = Form(
    "probe",
    ProbeSpec,
    display=(*options_of(Display), *OPTIONS),
    title="Is syntax still in there?",
    lead="A linear map is trained so that distances between word vectors become distances in the "
    "dependency tree. Where that works, the tree can be read off the vectors: layer by layer, before "
    "and after fine-tuning.",
    experiments=EXPERIMENTS,
    how_to_read=STUDY.how_to_read,
)


def controls() -> None:
    """What the study reads, and how."""
    left, right = st.columns([4, 1])
    with left:
        form.control("models")
    with right:
        form.control("rank")
    form.text()
    form.rest()
    with st.container(horizontal=True):
        form.button()


form.draw(controls)
asked = form.spec(train="", dev="", test="", layers=(), sweep=False)
if asked is None:
    st.stop()
spec = asked
view = form.view()
if form.experiment is not None:
    show_experiment(form, form.experiment, spec)
    st.stop()
texts, identity = form.texts, (form.identity, *contents(*spec.probed))
result = priced_panel(
    form,
    "probe",
    spec,
    lambda progress, cancel: STUDY.run(spec, texts, progress=progress, cancel=cancel),
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
elif view == SENTENCE:
    sentence_view(form, result)
else:
    ranks_view(form, spec, result, texts, identity)
kept.beside(form, spec, result, STUDY.figures)
lessons.conclude(form.address, result)
show_method(result, STUDY)
