"""The parts of the seed-alignment page that are experiments of their own, and what to beware of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from core.alignment import charts, experiment_charts
from core.alignment.attention_study import AttentionSpec, collect_attention, plan_attention
from core.alignment.experiments import (
    CHECKED_LAYER,
    CheckSpec,
    StitchSpec,
    collect_check,
    collect_stitch,
    plan_check,
    plan_stitch,
)
from core.alignment.registry import METHODS
from core.alignment.study import METHOD_NOTE
from core.models import describe, zoo_models
from core.runs.runner import run
from ui import controls
from ui.downloads import show_downloads
from ui.results import show_charts, show_headline, show_method, show_table
from ui.run_panel import run_panel
from ui.studies import contents

if TYPE_CHECKING:
    from core.results.export import Result
    from ui.controls import TextChoice

FORMULAS = {
    "Normalised held-out error of a map f": (
        r"\mathrm{NMSE} = \frac{\sum_i \lVert f(x_i) - y_i \rVert^2}"
        r"{\sum_i \lVert y_i - \bar y_{\mathrm{train}} \rVert^2}"
    ),
    "An affine coupling block; its inverse is as cheap": (
        r"y_1 = x_1 \odot e^{s(x_2)} + t(x_2), \qquad y_2 = x_2 \odot e^{s'(y_1)} + t'(y_1)"
    ),
}
METHOD, LAYER, GRID, PAIRS, SPACE, TRAINING = STUDY_VIEWS = (
    "By method",
    "By layer",
    "Layer into layer",
    "Pair by pair",
    "The space",
    "Training",
)
STITCHING, CHECK, ATTENTION = EXPERIMENT_VIEWS = ("Stitching", "Bijection check", "Attention")
VIEWS = (*STUDY_VIEWS, *EXPERIMENT_VIEWS)
CAVEATS = f"""
**What would mislead you here**

- **Training error.** With as many dimensions as rows least squares fits anything. Only held-out error is shown.
- **A low error of a non-bijective map says nothing of a bijection.** The plain network may throw information away;
  read the round-trip error of the invertible maps in the table (`inverse_error`).
- **Retrieval flatters.** A map with an error of .5 can still find most words among a thousand.
- **Pairs share models.** Twenty directed pairs of five seeds are five models, not twenty samples: bands resample
  models and sentences. With two models only sentences are resampled, so the band is of this pair.
- **How this differs from the published code.** {METHOD_NOTE}
"""


def show_view(result: Result, view: str) -> None:
    """One view of the main study: its charts, its downloads and the table that they are drawn from."""
    table, parts = view_charts(result, view)
    if not parts:
        missing = "No network among the maps: add the invertible or the plain network above."
        st.info(missing if view == TRAINING else "There is nothing to draw here.", icon=":material/info:")
        return
    if view == SPACE:
        space(result)
    else:
        show_charts(parts, key="figure", alt_text=result.headline)
    show_downloads(result, lambda: parts[0], lambda: charts.figures(result), table=table)
    show_table(result.tables[table])


def view_charts(result: Result, view: str) -> tuple[str, list[Any]]:
    """The table and the charts of a view; no charts where the study has not the numbers."""
    groups = dict.fromkeys(result.tables["layers"]["group"])
    if view == LAYER:
        return "layers", [charts.layer_chart(result, str(group)) for group in groups]
    if view == GRID:
        return "grid", [charts.grid_chart(result)] if "grid" in result.tables else []
    if view == TRAINING:
        return "curves", [charts.curve_chart(result)] if "curves" in result.tables else []
    if "models" not in groups:
        return "alignment", []
    if view == PAIRS:
        best = result.tables["methods"].query("group == 'models'").sort_values("nmse")["method"].iloc[0]
        return "alignment", [charts.pair_chart(result, str(best))]
    return "methods", [charts.method_chart(result)]


@st.fragment
def space(result: Result) -> None:
    """Source, mapped source and target of one pair at one layer; moving the slider computes nothing."""
    drawn = sorted({tuple(name.split("|")[1:4]) for name in result.arrays if name.startswith("models|")})
    pairs = list(dict.fromkeys(f"{source} into {target}" for source, target, _ in drawn))
    left, middle, right = st.columns([3, 3, 3])
    pair = left.selectbox("Pair", pairs, key="space_pair")
    source, target = pair.split(" into ")
    methods = [name for name in METHODS if (source, target, name) in drawn]
    default = methods.index("ridge") if "ridge" in methods else 0
    method = middle.selectbox(
        "Map", methods, index=default, key="space_method", format_func=lambda name: METHODS[name].label
    )
    layers = sorted({int(layer) for layer in result.table["layer"]})
    layer = right.select_slider("Layer", layers, value=layers[-1], key="space_layer")
    places = [place for place in ("source", "mapped") if f"models|{source}|{target}|{method}|{place}" in result.arrays]
    index = layers.index(layer)
    parts = [charts.space_chart(result, source, target, method, index, place) for place in places]
    show_charts(parts, key="space", alt_text=f"Words of {source} and {target}, before and after the map")


def check(models: tuple[str, ...], text: TextChoice) -> None:
    """The bijection check of the first model."""
    left, right = st.columns([2, 3])
    depth = describe(models[0]).layers
    layer = left.number_input(
        "Layer", 0, depth, min(CHECKED_LAYER, depth), key="check_layer", help="Whose states are bent; 0 = embeddings."
    )
    names = right.multiselect(
        "Methods",
        list(METHODS),
        default=["identity", "procrustes", "ols", "ridge", "inn"],
        key="check_methods",
        format_func=lambda name: METHODS[name].label,
        wrap=True,
    )
    if not names:
        st.info("Choose at least one method.", icon=":material/info:")
        return
    model = models[0]
    spec = CheckSpec(model=model, layer=int(layer), methods=tuple(names), corpus=_corpus(text), limit=text.limit)
    _experiment("bijection check", spec, plan_check, collect_check, (model,))


def stitching(models: tuple[str, ...], text: TextChoice) -> None:
    """Sentiment models of different seeds, stitched at every layer; the page's own models have no head for a task."""
    bases = {str(entry["ref"]): str(entry.get("base")) for entry in zoo_models() if entry.get("task") == "sentiment"}
    first = [ref for ref, base in bases.items() if base == "zoo:seed-0"][:1]
    others = [ref for ref, base in bases.items() if base != "zoo:seed-0"][:1]
    refs = controls.models_picker(
        "Models with one task's head",
        key="stitch",
        default=(*first, *others) or ("zoo:sentiment-0",),
        help="Two or more, with the same classes. Each is stitched into each at every layer.",
    )
    if not refs:
        return
    if len(refs) < 2:
        st.info("Choose at least two models with the same task, such as two sentiment models.", icon=":material/info:")
        return
    spec = StitchSpec(models=refs, corpus=_corpus(text), limit=text.limit)
    _experiment("stitching", spec, plan_stitch, collect_stitch, refs)


def attention(models: tuple[str, ...], text: TextChoice) -> None:
    """Matched heads and mapped attention outputs."""
    spec = AttentionSpec(models=models, corpus=_corpus(text), limit=min(text.limit, 150))
    _experiment("attention", spec, plan_attention, collect_attention, models)


EXPERIMENTS = {STITCHING: stitching, CHECK: check, ATTENTION: attention}


def _corpus(text: TextChoice) -> str:
    """The text that an experiment reads, genres and all: an experiment reads by reference, so never an upload."""
    if text.upload is not None:
        st.caption(":material/info: Experiments do not read uploads; this one reads the demo.")
        return "demo"
    return f"{text.ref}:{','.join(text.genres)}" if text.genres else text.ref


def _experiment(name: str, spec: Any, plan: Any, collect: Any, refs: tuple[str, ...]) -> None:
    result = run_panel(
        name,
        spec,
        lambda progress, cancel: collect(spec, run(plan(spec), progress=progress, cancel=cancel)),
        identity=contents(*refs),
    )
    if result is None:
        return
    show_headline(result)
    drawn = experiment_charts.experiment_figures(result)
    if not drawn:
        return
    show_charts(list(drawn.values()), key=name, alt_text=result.headline)
    show_downloads(result, lambda: next(iter(drawn.values())), lambda: experiment_charts.experiment_figures(result))
    for table in result.tables.values():
        show_table(table)
    show_method(result, CAVEATS, FORMULAS)
