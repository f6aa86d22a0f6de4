"""Is syntax still in there? Structural probes by layer, and the tree that the vectors predict beside the parse."""

from __future__ import annotations

import streamlit as st

from core.probes.spec import HEADS, PROBES, ProbeSpec
from core.probes.study import ProbeResult, run_study
from core.text.parsing import available_pipelines
from ui import controls, shell
from ui import old_links as links
from ui.probe_views import CAVEATS, FORMULAS, ranks_view, scores_view, sentence_view
from ui.results import show_headline, show_method
from ui.run_panel import run_panel
from ui.studies import contents

MODELS = ("zoo:seed-0", "zoo:parse-0")
SENTENCES = 800
SCORES, SENTENCE, RANKS = VIEWS = ("By layer", "Sentence", "Rank")
TREES_HELP = "; ".join(f"`{name}`: {meaning}" for name, meaning in HEADS.items())
RULES = controls.link_rules(
    models=("models",),
    view=links.one_of(VIEWS),
    heads=links.one_of(HEADS),
    pipeline=links.one_of(available_pipelines()),
    probe=links.one_of(PROBES),
    rank=links.number(1, 8_192),
    controls=links.flag,
    untrained=links.flag,
    epochs=links.number(1, 200),
    draws=links.number(20, 10_000),
    seed=links.number(0, 2**31 - 1),
)

shell.open_page(
    "Is syntax still in there?",
    "A linear map is trained so that distances between word vectors become distances in the dependency tree. Where "
    "that works, the tree can be read off the vectors: layer by layer, before and after fine-tuning.",
)
links.read_link(RULES)
with st.form("study"):
    left, right = st.columns([4, 1])
    with left:
        models = controls.models_picker("Models (the first is the base)", key="models", default=MODELS)
    rank = right.number_input("Rank", 1, 8_192, 64, key="rank", bind="query-params")
    text = controls.text_picker(sentences=SENTENCES)
    with st.container(horizontal=True):
        again = controls.form_submitted()
        with st.popover("Options", icon=":material/tune:"):
            heads = st.selectbox("Trees", list(HEADS), key="heads", bind="query-params", help=TREES_HELP)
            pipeline = st.selectbox("Parser", available_pipelines(), key="pipeline", bind="query-params")
            probes = st.multiselect("Probes", PROBES, default=list(PROBES), key="probe", bind="query-params")
            with_controls = st.toggle("Control trees", True, key="controls", bind="query-params")
            untrained = st.toggle("Untrained model", True, key="untrained", bind="query-params")
            epochs = st.number_input("Most epochs", 1, 200, 40, key="epochs", bind="query-params")
            draws = st.number_input("Bootstrap draws", 20, 10_000, 1_000, step=100, key="draws", bind="query-params")
            seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
if not (models and text):
    st.stop()
if not probes:
    st.error("Choose a distance probe, a depth probe or both under Options.", icon=":material/error:")
    st.stop()
spec = ProbeSpec(
    models=models,
    corpus=text.ref,
    genres=text.genres,
    heads=heads,
    pipeline=pipeline or "box",
    probes=tuple(probes),
    rank=int(rank),
    limit=text.limit,
    controls=with_controls,
    untrained=untrained,
    epochs=int(epochs),
    draws=int(draws),
    seed=int(seed),
)
corpora, identity = text.corpora, (text.identity, *contents(*spec.probed))
result = run_panel(
    "probe",
    spec,
    lambda progress, cancel: run_study(spec, corpora(), progress=progress, cancel=cancel),
    identity=identity,
    again=again,
)
if not isinstance(result, ProbeResult):
    st.stop()
show_headline(result)
if not result.probes:
    st.stop()
view = st.segmented_control(
    "View", VIEWS, default=SCORES, required=True, key="view", bind="query-params", label_visibility="collapsed"
)
if view == SCORES:
    scores_view(result)
elif view == SENTENCE:
    sentence_view(result)
else:
    ranks_view(spec, result, text, identity)
show_method(result, CAVEATS, FORMULAS)
