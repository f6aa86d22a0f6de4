"""Which layers does fine-tuning change, and how much?"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.rsa import charts
from core.rsa.kernels import KERNELS
from core.rsa.measures import MEASURES
from core.rsa.rdm import COMPARISONS
from core.rsa.spec import ITEMS, RsaSpec
from core.rsa.study import run_study
from ui import controls, links, shell
from ui.downloads import show_downloads
from ui.results import show_charts, show_headline, show_method, show_table
from ui.rsa_views import CAVEATS, FORMULAS, second_text, token_map
from ui.run_panel import run_panel
from ui.studies import BASE, COMPARED, SENTENCES, WORDS, contents

LABELS = {measure.label: name for name, measure in MEASURES.items()}
CURVES, GRID, TEXTS, TOKENS = VIEWS = ("By layer", "Layer against layer", "Two texts", "Token map")
RULES = controls.link_rules(
    models=("base", "compare"),
    measure=links.one_of(LABELS),
    view=links.one_of(VIEWS),
    items=links.one_of(ITEMS),
    kernel=links.one_of(KERNELS),
    comparison=links.one_of(COMPARISONS),
    words=links.number(10, 20_000),
    rogue=links.number(0, 64),
    draws=links.number(20, 10_000),
    seed=links.number(0, 2**31 - 1),
    standardise=links.flag,
    yardsticks=links.flag,
)

shell.open_page(
    "Which layers does fine-tuning change?",
    "The same words through two models, layer by layer: where the similarity falls, fine-tuning has written over "
    "what pretraining wrote.",
)
links.read_link(RULES)
with st.form("study"):
    left, middle, right = st.columns([3, 6, 2])
    with left:
        base = controls.model_picker("Base model", key="base", default=BASE)
    with middle:
        compared = controls.models_picker("Compared with", key="compare", default=COMPARED)
    with right:
        measure = st.selectbox("Measure", list(LABELS), key="measure", bind="query-params")
    text = controls.text_picker(sentences=SENTENCES)
    with st.container(horizontal=True):
        again = controls.form_submitted()
        with st.popover("Options", icon=":material/tune:"):
            items = st.selectbox("Items", list(ITEMS), key="items", bind="query-params", help="; ".join(ITEMS.values()))
            words = st.number_input("Words sampled", 10, 20_000, WORDS, step=100, key="words", bind="query-params")
            standardise = st.toggle("Standardise dimensions", key="standardise", bind="query-params")
            rogue = st.number_input("Rogue dimensions dropped", 0, 64, 0, key="rogue", bind="query-params")
            kernel = st.selectbox("Kernel of RSA", list(KERNELS), key="kernel", bind="query-params")
            comparison = st.selectbox("Comparison of RSA", list(COMPARISONS), key="comparison", bind="query-params")
            draws = st.number_input("Bootstrap draws", 20, 10_000, 500, step=100, key="draws", bind="query-params")
            seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
            yardsticks = st.toggle("Yardsticks", True, key="yardsticks", bind="query-params")
if not (base and compared and text):
    st.stop()
spec = RsaSpec(
    base=base,
    compare=compared,
    corpus=text.ref,
    genres=text.genres,
    measure=LABELS[measure],
    kernel=kernel,
    comparison=comparison,
    items=items,
    sample=int(words),
    limit=text.limit,
    standardise=standardise,
    drop_rogue=int(rogue),
    draws=int(draws),
    yardsticks=yardsticks,
    seed=int(seed),
)
panel = st.container()
view = st.segmented_control(
    "View", VIEWS, default=CURVES, required=True, key="view", bind="query-params", label_visibility="collapsed"
)
if view == TOKENS:
    token_map(spec)
    st.stop()
if view == TEXTS:
    spec = second_text(spec)
spec = replace(spec, grid=view == GRID)
with panel:
    result = run_panel(
        "RSA",
        spec,
        lambda progress, cancel: run_study(spec, text.corpora(), progress=progress, cancel=cancel),
        identity=(text.identity, contents(spec.base, *spec.compare)),
        again=again,
    )
    if result is None:
        st.stop()
    show_headline(result)
if result.table.empty:
    st.stop()
if view == GRID:
    table, whole = "grid", lambda: charts.grid_chart(result)
    parts = [charts.grid_chart(result, model) for model in dict.fromkeys(result.tables["grid"]["model"])]
elif view == TEXTS:
    table, whole = "domains", lambda: charts.domains_chart(result)
    parts = [charts.domains_chart(result, name) for name in dict.fromkeys(result.tables["domains"]["corpus"])]
else:
    table, whole = "similarity", lambda: charts.similarity_chart(result)
    parts = [whole()]
show_charts(parts, key="figure", alt_text=result.headline)
show_downloads(result, whole, lambda: charts.figures(result), table=table)
show_table(result.tables[table])
show_method(result, CAVEATS, FORMULAS)
