"""Do two pretraining seeds learn the same space, up to a bijection?"""

from __future__ import annotations

import streamlit as st

from core.alignment import charts
from core.alignment.registry import DEFAULT_METHODS, METHODS
from core.alignment.spec import ITEMS, AlignSpec
from core.alignment.study import run_study
from ui import alignment_views, controls, links, shell
from ui.alignment_views import CAVEATS, FORMULAS
from ui.downloads import show_downloads
from ui.results import show_charts, show_headline, show_method, show_table
from ui.run_panel import run_panel
from ui.studies import contents

METHOD, LAYER, GRID, PAIRS, SPACE, TRAINING, STITCHING, CHECK, ATTENTION = VIEWS = (
    "By method",
    "By layer",
    "Layer into layer",
    "Pair by pair",
    "The space",
    "Training",
    "Stitching",
    "Bijection check",
    "Attention",
)
MODELS = ("zoo:seed-0", "zoo:seed-1")
SECOND = ("zoo:sentiment-0", "zoo:sentiment-0-from-seed-1")
SENTENCES = 250
RULES = controls.link_rules(
    models=("models", "second", "stitch"),
    method=links.one_of(METHODS),
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
            list(METHODS),
            default=[name for name in DEFAULT_METHODS if METHODS[name].kind != "network"],
            key="method",
            bind="query-params",
            format_func=lambda name: METHODS[name].label,
            wrap=True,
            help="; ".join(f"{method.label}: {method.note}" for method in METHODS.values())
            + ". The networks are trained layer by layer and take about half a minute a pair.",
        )
    text = controls.text_picker(sentences=SENTENCES)
    with st.container(horizontal=True):
        again = controls.form_submitted()
        with st.popover("Options", icon=":material/tune:"):
            compared = st.toggle("A second group beside the first", key="compared", bind="query-params")
            second = controls.models_picker(
                "Second group",
                key="second",
                default=SECOND,
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
    methods=tuple(name for name in METHODS if name in methods),
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
if view == STITCHING:
    alignment_views.stitching(text.limit)
    st.stop()
if view == CHECK:
    alignment_views.check(models[0], text.limit)
    st.stop()
if view == ATTENTION:
    alignment_views.attention(models, text.limit)
    st.stop()
with panel:
    result = run_panel(
        "alignment",
        spec,
        lambda progress, cancel: run_study(spec, text.corpora(), progress=progress, cancel=cancel),
        identity=(text.identity, contents(*spec.models, *spec.against)),
        again=again,
    )
    if result is None:
        st.stop()
    show_headline(result)
if result.table.empty:
    st.stop()
table, parts = "alignment", [charts.method_chart(result)]
if view == LAYER:
    table = "layers"
    parts = [charts.layer_chart(result, group) for group in dict.fromkeys(result.tables["layers"]["group"])]
elif view == GRID and "grid" in result.tables:
    table, parts = "grid", [charts.grid_chart(result)]
elif view == PAIRS:
    best = result.tables["methods"].query("group == 'models'").sort_values("nmse")["method"].iloc[0]
    parts = [charts.pair_chart(result, best)]
elif view == TRAINING:
    if "curves" not in result.tables:
        st.info("No network among the maps: add the invertible or the plain network above.", icon=":material/info:")
        st.stop()
    table, parts = "curves", [charts.curve_chart(result)]
if view == SPACE:
    alignment_views.space(result)
else:
    show_charts(parts, key="figure", alt_text=result.headline)
show_downloads(result, lambda: parts[0], lambda: charts.figures(result), table=table)
show_table(result.tables[table])
show_method(result, CAVEATS, FORMULAS)
