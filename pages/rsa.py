"""Which layers does fine-tuning change, and how much?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import altair as alt
import streamlit as st

from core.results.export import Result
from core.rsa import charts
from core.rsa.kernels import KERNELS
from core.rsa.measures import MEASURES
from core.rsa.rdm import COMPARISONS
from core.rsa.spec import ITEMS, RsaSpec
from core.rsa.study import run_study
from ui import controls, links, shell
from ui.downloads import show_downloads
from ui.results import show_charts, show_headline, show_method, show_table
from ui.rsa_views import CAVEATS, FORMULAS, rsa_options, second_text, token_map
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


def ask() -> tuple[RsaSpec, controls.TextChoice, bool] | None:
    """The form: the study, its text, and whether the button was pressed; None where something is no choice."""
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
            pressed = controls.form_submitted()
            with st.popover("Options", icon=":material/tune:"):
                options = rsa_options(WORDS)
            controls.fine_tune_finder()
    if not (base and compared and text):
        return None
    spec = RsaSpec(base, compared, text.ref, text.genres, measure=LABELS[measure], limit=text.limit, **options)
    return spec, text, pressed


def draw(result: Result, view: str) -> None:
    """The view's charts, the downloads of just these, and their table."""
    table = {GRID: "grid", TEXTS: "domains"}.get(view, "similarity")
    chart: Callable[..., alt.TopLevelMixin] = {GRID: charts.grid_chart, TEXTS: charts.domains_chart}.get(
        view, charts.similarity_chart
    )
    panels = {GRID: "model", TEXTS: "corpus"}.get(view)
    names = [(name,) for name in dict.fromkeys(result.tables[table][panels])] if panels else [()]
    show_charts([chart(result, *name) for name in names], key="figure", alt_text=result.headline)
    show_downloads(result, lambda: chart(result), lambda: charts.figures(result), table=table)
    show_table(result.tables[table])


shell.open_page(
    "Which layers does fine-tuning change?",
    "The same words through two models, layer by layer: where the similarity falls, fine-tuning has written over "
    "what pretraining wrote.",
)
links.read_link(RULES)
asked = ask()
if asked is None:
    st.stop()
spec, text, again = asked
panel = st.container()
view = st.segmented_control(
    "View", VIEWS, default=CURVES, required=True, key="view", bind="query-params", label_visibility="collapsed"
)
if view == TOKENS:
    token_map(spec)
    st.stop()
study = replace(second_text(spec) if view == TEXTS else spec, grid=view == GRID)
with panel:
    result = run_panel(
        "RSA",
        study,
        lambda progress, cancel: run_study(study, text.corpora(), progress=progress, cancel=cancel),
        identity=(text.identity, contents(study.base, *study.compare)),
        again=again,
    )
    if result is None:
        st.stop()
    show_headline(result)
if len(result.table):
    draw(result, str(view))
    show_method(result, CAVEATS, FORMULAS)
