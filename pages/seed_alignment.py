"""Do two pretraining seeds learn the same space, up to a bijection?"""

from __future__ import annotations

import streamlit as st

from core.alignment.registry import DEFAULT_METHODS, METHODS
from core.alignment.spec import ITEMS, AlignSpec
from core.alignment.study import run_study
from ui import controls, shell
from ui import old_links as links
from ui.alignment_views import CAVEATS, EXPERIMENTS, FORMULAS, METHOD, VIEWS, show_view
from ui.results import show_headline, show_method
from ui.run_panel import run_panel
from ui.studies import contents

MODELS = ("zoo:seed-0", "zoo:seed-1")
SECOND = ("zoo:sentiment-0", "zoo:sentiment-0-from-seed-1")
SENTENCES = 250
LABELS = {method.label: name for name, method in METHODS.items()}  # a link holds what the control shows
RULES = controls.link_rules(
    models=("models", "second", "stitch"),
    method=links.one_of(LABELS),
    items=links.one_of(ITEMS),
    view=links.one_of(VIEWS),
    draws=links.number(20, 10_000),
    seed=links.number(0, 2**31 - 1),
)

shell.open_page(
    "Do two seeds learn the same space?",
    "The same words through models that differ in nothing but their random seed: if one space is the other one bent, "
    "a map fitted on some sentences should carry the others over.",
)
links.read_link(RULES)
with st.form("study"):
    left, right = st.columns([3, 4])
    with left:
        models = controls.models_picker("Models", key="models", default=MODELS)
    with right:
        methods = st.multiselect(
            "Maps",
            list(LABELS),
            default=[METHODS[name].label for name in DEFAULT_METHODS],
            key="method",
            bind="query-params",
            wrap=True,
            help="; ".join(f"{method.label}: {method.note}" for method in METHODS.values())
            + ". The networks are trained for every layer, which takes most of the time.",
        )
    text = controls.text_picker(sentences=SENTENCES)
    with st.container(horizontal=True):
        again = controls.form_submitted()
        with st.popover("Options", icon=":material/tune:"):
            compared = st.toggle("A second group beside the first", key="compared", bind="query-params")
            second = controls.models_picker(
                "Second group",
                key="second",
                default=SECOND if set(SECOND) <= set(controls.model_options()) else MODELS,
                help="Such as fine-tuned seeds.",
            )
            items = st.selectbox("Rows", ITEMS, key="items", bind="query-params")
            draws = st.number_input("Bootstrap draws", 20, 10_000, 500, step=100, key="draws", bind="query-params")
            seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
if not (models and text and (second or not compared)):
    st.stop()
spec = AlignSpec(
    models=models,
    against=second if compared and second else (),
    methods=tuple(name for label, name in LABELS.items() if label in methods),
    corpus=text.ref,
    genres=text.genres,
    items=items,
    limit=text.limit,
    draws=int(draws),
    seed=int(seed),
)
panel = st.container()
view = st.segmented_control(
    "View", VIEWS, default=METHOD, required=True, key="view", bind="query-params", label_visibility="collapsed"
)
if view in EXPERIMENTS:
    EXPERIMENTS[view](models, text)
    st.stop()
with panel:
    corpora = text.corpora  # read in the worker, not here
    result = run_panel(
        "alignment",
        spec,
        lambda progress, cancel: run_study(spec, corpora(), progress=progress, cancel=cancel),
        identity=(text.identity, contents(*spec.models, *spec.against)),
        again=again,
    )
if result is None:
    st.stop()
with panel:
    show_headline(result)
if result.table.empty:
    st.stop()
show_view(result, view)
show_method(result, CAVEATS, FORMULAS)
