"""Can you tell what a model was fine-tuned on from its weight delta alone? How does rank change with depth?"""

from __future__ import annotations

import streamlit as st

from core.weights import clustering
from core.weights.members import fine_tunes
from core.weights.spec import OF, WeightsSpec
from core.weights.study import run_study
from core.weights.vectors import VECTORS
from ui import controls, shell, weights_views
from ui import old_links as links
from ui.results import show_headline, show_method
from ui.run_panel import run_panel
from ui.studies import contents

BASE = "zoo:seed-0"

TITLES = {vector.title: name for name, vector in VECTORS.items()}
BY = ("task", "data", "base")
MAP, NEIGHBOURS, DISTANCES, DEPTH = VIEWS = ("Map", "Neighbours", "Distances", "Rank by depth")
RULES = {
    "base": controls.model_problem,
    "models": weights_views.models_problem,
    "vector": links.one_of(TITLES),
    "view": links.one_of(VIEWS),
    "colour": links.one_of(weights_views.COLUMNS),
    "map": links.one_of(weights_views.METHODS),
    "label": links.one_of(BY),
    "method": links.one_of(clustering.METHODS),
    "of": links.one_of(OF),
    "rank": links.number(1, 64),
    "neighbours": links.number(0, 50),
    "clusters": links.number(0, 50),
    "permutations": links.number(100, 100_000),
    "seed": links.number(0, 2**31 - 1),
    "own_bases": links.flag,
}

shell.open_page(
    "What was this model fine-tuned on?",
    "Fine-tuning leaves a trace in the weights: the difference from the base. Models whose traces point the same way "
    "lie near each other; if neighbours share a task more often than chance, the weights alone give it away.",
)
links.read_link(RULES)
with st.form("study"):
    left, middle, right = st.columns([3, 6, 2])
    with left:
        base = controls.model_picker("Base model", key="base", default=BASE)
    with middle:
        models = weights_views.fine_tunes_picker()
    with right:
        vector = st.selectbox(
            "Vector", list(TITLES), key="vector", bind="query-params",
            help="  \n".join(f"*{vector.title}*: {vector.meaning}" for vector in VECTORS.values()),
        )  # fmt: skip
    with st.container(horizontal=True):
        again = controls.form_submitted()
        with st.popover("Options", icon=":material/tune:"):
            rank = st.number_input("Rank (projectors, factors)", 1, 64, 8, key="rank", bind="query-params")
            label = st.selectbox("Label by", BY, key="label", bind="query-params")
            labels = weights_views.label_table()
            neighbours = st.number_input(
                "Neighbours (0: smallest group less one)", 0, 50, 0, key="neighbours", bind="query-params"
            )
            method = st.selectbox("Clusters", clustering.METHODS, key="method", bind="query-params")
            clusters = st.number_input("How many (0: as many as labels)", 0, 50, 0, key="clusters", bind="query-params")
            of = st.selectbox("Ranks of", OF, key="of", bind="query-params")
            permutations = st.number_input(
                "Permutations", 100, 100_000, 10_000, step=1_000, key="permutations", bind="query-params"
            )
            seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="seed", bind="query-params")
            own_bases = st.toggle("Models of another base, with their own", key="own_bases", bind="query-params")
if base:
    weights_views.hub_panel(base)
if not (base and models):
    st.stop()
spec = WeightsSpec(
    base=base,
    models=models,
    vector=TITLES[vector],
    rank=int(rank),
    label="table" if labels else label,
    labels=labels,
    neighbours=int(neighbours),
    method=method,
    clusters=int(clusters),
    of=of,
    permutations=int(permutations),
    own_bases=own_bases,
    seed=int(seed),
)
result = run_panel(
    "weights",
    spec,
    lambda progress, cancel: run_study(spec, progress=progress, cancel=cancel),
    identity=contents(base, *(str(entry["ref"]) for entry in fine_tunes())),
    again=again,
)
if result is None:
    st.stop()
show_headline(result)
view = st.segmented_control(
    "View", VIEWS, default=MAP, required=True, key="view", bind="query-params", label_visibility="collapsed"
)
if view == NEIGHBOURS:
    weights_views.neighbours_view(result)
elif view == DISTANCES:
    weights_views.distances_view(result)
elif view == DEPTH:
    weights_views.depth_view(result)
else:
    weights_views.map_view(result)
show_method(result, weights_views.CAVEATS, weights_views.FORMULAS)
