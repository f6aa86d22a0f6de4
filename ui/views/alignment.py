"""The parts of the seed-alignment page that are experiments of their own, and what to beware of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core import options
from core.alignment.attention.study import STUDY as ATTENTION_STUDY
from core.alignment.check.study import STUDY as CHECK_STUDY
from core.alignment.maps.registry import METHODS
from core.alignment.published.study import STUDY as PUBLISHED_STUDY
from core.alignment.seeds import charts
from core.alignment.seeds import view_text as view_headlines
from core.alignment.seeds.spec import AlignSpec
from core.alignment.seeds.study import METHOD_NOTE
from core.alignment.seeds.text import judged
from core.alignment.stitching.study import STUDY as STITCHING_STUDY
from core.errors import PalimpsestError
from core.options import Option, Spec, options_of
from core.results.drawing.panels import Panels
from core.results.names import short_names
from core.study import Study
from ui import lessons
from ui.frame.links import Address
from ui.frame.text import plain
from ui.study.controls import KEPT
from ui.study.downloads import show_downloads
from ui.study.experiments import result_of
from ui.study.forms import Form
from ui.study.layers import Picking, layer_slider, played
from ui.study.results import cautioned, show_charts, show_headline, show_method, show_notes, show_sentence, show_table
from ui.study.views import contents

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result

FORMULAS = {
    "Normalised held-out error of a map f": (
        r"\mathrm{NMSE} = \frac{\sum_i \lVert f(x_i) - y_i \rVert^2}"
        r"{\sum_i \lVert y_i - \bar y_{\mathrm{train}} \rVert^2}"
    ),
    "An affine coupling block; its inverse is as cheap": (
        r"y_1 = x_1 \odot e^{s(x_2)} + t(x_2), \qquad y_2 = x_2 \odot e^{s'(y_1)} + t'(y_1)"
    ),
}
METHOD, LAYER, GRID, PAIRS, SPACE, TRAINING = (
    "By method",
    "By layer",
    "Layer into layer",
    "Pair by pair",
    "The space",
    "Training",
)
STITCHING, CHECK, ATTENTION, PROTOCOL = "Stitching", "Bijection check", "Attention", "Published protocol"
STUDY_VIEWS = {
    METHOD: "held-out error of every map",
    LAYER: "the same by layer",
    GRID: "any layer of the first pair into any other",
    PAIRS: "every pair of models by the best map",
    SPACE: "words before and after a map",
    TRAINING: "how the networks converged",
}
EXPERIMENT_VIEWS = {
    STITCHING: "lower layers of one model, upper layers and head of another",
    CHECK: "maps undo a known bijection",
    ATTENTION: "matched heads and mapped attention outputs",
    PROTOCOL: "which findings of the paper survive a change of protocol",
}
VIEWS = STUDY_VIEWS | EXPERIMENT_VIEWS
GROUPS = {
    "Errors": (METHOD, LAYER, GRID, PAIRS),
    "Maps": (SPACE, TRAINING),
    "Experiments": (STITCHING, CHECK, ATTENTION, PROTOCOL),
}
SENTENCES: dict[str, Callable[[Result], str]] = {
    METHOD: view_headlines.method_sentence,
    LAYER: view_headlines.layer_sentence,
    GRID: view_headlines.grid_sentence,
    PAIRS: view_headlines.pairs_sentence,
    TRAINING: view_headlines.training_sentence,
}
OWN = {  # options of an experiment that are not the study's, by the name that they have in the address
    STITCHING: {"stitch_models": "models", "stitch_methods": "methods", "draws": "draws"},
    CHECK: {"check_layer": "layer", "truths": "truths", "check_methods": "methods"},
    ATTENTION: {"attention_methods": "methods"},
    PROTOCOL: {"protocol_tuned": "tuned", "protocol_length": "length", "protocol_steps": "steps"},
}
CAVEATS = f"""
**What would mislead you here**

- **It is mostly the word.** Split by sentence, most test words were fitted on in other sentences, and a table of mean
  vectors by word, which reads no source at all, competes with any map. Read errors on words that were never fitted on;
  split by word holds out whole word types.
- **Training error.** With as many dimensions as rows least squares fits anything. Only held-out error is shown.
- **A low error of a non-bijective map says nothing of a bijection.** Kernel ridge and the plain network may throw
  information away; read the round-trip error of the invertible maps in the table (`inverse_error`).
- **Retrieval flatters.** A map with an error of .5 can still find most words among a thousand.
- **Pairs share models.** Twenty directed pairs of five seeds are five models, not twenty samples: bands leave out one
  model at a time, and one held-out word or sentence at a time. With two models only words or sentences are left out,
  so the band is of this pair.
- **How this differs from the published code.** {METHOD_NOTE}
"""


PICKED = {LAYER: "layer", GRID: "target_layer"}  # column of a chart's points or cells that says their layer


def _space_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """The space of the layer that was clicked; of a cell, the target's."""
    layer = next((point[name] for name in PICKED.values() if name in point), None)
    return {} if layer is None else {"view": SPACE, "layer": int(layer)}


def show_view(form: Form[AlignSpec], result: Result, view: str) -> None:
    """One view of the main study: its charts, its downloads and the table that they are drawn from."""
    if view == SPACE:
        show_notes(result, form.bar, [result.headline])
    else:
        show_headline(result, SENTENCES[view](result), form.bar)
    table, parts = view_charts(result, view)
    if not parts:
        missing = "No network among the maps: add the invertible or the plain network above."
        st.info(missing if view == TRAINING else "There is nothing to draw here.", icon=":material/info:")
        return
    if view == SPACE:
        played(form.address, space)(form.address, result)
    else:

        def drawn() -> list[Any]:
            return [draw() for draw in parts]

        show_charts(
            drawn,
            key="figure",
            alt_text=result.headline,
            result=result,
            view=view,
            mark=lessons.mark("alignment") if view == METHOD else None,
            pick=Picking(form.address, (PICKED[view],), _space_at).made if view in PICKED else None,
        )
        if view == LAYER:
            st.caption("Click a point: the space opens at its layer.")
        elif view == GRID:
            st.caption("Click a cell: the space of its target's layer opens.")
        show_downloads(result, drawn, lambda: charts.figures(result), table=table, view=view)
    show_table(result.tables[table], table)


def view_charts(result: Result, view: str) -> tuple[str, list[Callable[[], Any]]]:
    """The table of a view and what draws its charts; nothing does where the study has not the numbers."""
    groups = dict.fromkeys(result.tables["layers"]["group"])
    if view == LAYER:
        return "layers", [partial(charts.layer_chart, result, str(group)) for group in groups]
    if view == GRID:
        return "grid", [partial(charts.grid_chart, result)] if "grid" in result.tables else []
    if view == TRAINING:
        return "curves", [partial(charts.curve_chart, result, method) for method in charts.trained(result)]
    if "models" not in groups:
        return "alignment", []
    if view == PAIRS:
        means = result.tables["methods"]
        shown = means[(means["group"] == "models") & (means["words"] == judged(means))]
        best = shown.sort_values("nmse")["method"].iloc[0]
        return "alignment", [partial(charts.pair_chart, result, str(best))]
    return "methods", [partial(charts.method_chart, result)]


def space(address: Address, result: Result) -> None:
    """Source, mapped source and target of one pair at one layer; moving the slider computes nothing."""
    refs, methods = list(result.spec["models"]), list(result.spec["methods"])
    drawn = np.isfinite(result.arrays["mapped_points"]).any((-1, -2, -3))
    pairs = [(a, b) for a in range(len(refs)) for b in range(len(refs)) if drawn[:, a, b].any()]
    headline = st.container()  # the sentence is the map's, which is chosen below
    left, middle, right = st.columns([3, 2, 4], vertical_alignment="bottom")
    names = short_names(refs)
    named = {" into ".join((refs[a], refs[b])): (a, b) for a, b in pairs}
    first = next(iter(named))  # "" stands for it: no pair was chosen
    if address["pair"] == first:
        address.set("pair", "")
    address.among("pair", named, "")
    chosen = left.selectbox(
        "Pair",
        ["", *list(named)[1:]],
        key=address.key("pair"),
        format_func=lambda pair: " into ".join(names[refs[number]] for number in named[pair or first]),
        help=address.options["pair"].help,
        **KEPT,
    )
    source, target = named[chosen or first]
    offered = [name for number, name in enumerate(methods) if drawn[number, source, target]]
    usual = "ridge" if "ridge" in offered else offered[0]
    if address["map"] == usual:
        address.set("map", "")
    address.among("map", offered, "")
    method = (
        middle.selectbox(
            "Map",
            ["" if name == usual else name for name in offered],
            key=address.key("map"),
            format_func=lambda name: METHODS[name or usual].label,
            help=address.options["map"].help,
            **KEPT,
        )
        or usual
    )
    layers = sorted({int(layer) for layer in result.table["layer"]})
    with right:
        layer = layer_slider(address, layers, layers[-1])
    sentence = view_headlines.space_sentence(result, refs[source], refs[target], method, layer)
    with headline:
        show_sentence(cautioned(result, sentence) if sentence else result.headline)
    index = layers.index(layer)
    before = np.isfinite(result.arrays["source_points"][source, target]).any()
    places = ("source", "mapped") if before else ("mapped",)

    def parts() -> Panels:
        shown = [charts.space_chart(result, refs[source], refs[target], method, index, place) for place in places]
        return Panels(shown, inline=True)

    view = (source, target, method, index)
    shown = f"Words of {refs[source]} and {refs[target]}, before and after the map"
    show_charts(parts, key="space", alt_text=shown, result=result, view=view)
    names = short_names((refs[source], refs[target]))
    called = f"space {names[refs[source]]} into {names[refs[target]]} {method} layer {layer}"
    show_downloads(result, parts, lambda: charts.figures(result), table="alignment", view=("space", *view), name=called)


def _own_options(view: str, study: Study) -> list[Option]:
    known = {option.name: option for option in options_of(study.Spec)}
    return [replace(known[name], name=ours) for ours, name in OWN[view].items()]


@dataclass(frozen=True)
class Shown(Spec):
    """What *The space* shows: in the address, no part of the study."""

    pair: str = options.line("Pair", help="Source and target of the map.")
    map: str = options.choice(
        "Map", "", {"": ""} | dict.fromkeys(METHODS, ""), help="How the source was mapped onto the target."
    )


STUDIES: dict[str, Study] = {
    STITCHING: STITCHING_STUDY,
    CHECK: CHECK_STUDY,
    ATTENTION: ATTENTION_STUDY,
    PROTOCOL: PUBLISHED_STUDY,
}
SHOWN = options_of(Shown)
EXPERIMENT_OPTIONS = [option for view, study in STUDIES.items() for option in _own_options(view, study)]


def _experiment(
    view: str, form: Form[AlignSpec], spec: AlignSpec, aside: DeltaGenerator, given: dict[str, Any]
) -> None:
    """An experiment's controls and the button that starts it, then its result.

    Args:
        given: The experiment's options that the study's form has.
    """
    study, name = STUDIES[view], view.lower()
    shared = {"corpus": spec.corpus, "genres": spec.genres, "sentences": spec.sentences, "seed": spec.seed}
    own_values = {field: form.address[ours] for ours, field in OWN[view].items()}
    asked = _spec_of(study.Spec, shared | given | own_values)
    texts = form.texts

    refs = (*(getattr(asked, "models", None) or (getattr(asked, "model", ""),)), *getattr(asked, "tuned", ()))
    identity = (form.identity, contents(*refs))

    def run(progress: Any, cancel: Any) -> Any:
        return study.run(asked, texts, progress=progress, cancel=cancel)

    waiting = f"{VIEWS[view][0].upper()}{VIEWS[view][1:]}. It starts when you press its button."
    result = result_of(
        form,
        view,
        OWN[view],
        asked,
        run,
        pricing=study.price,
        name=name,
        identity=identity,
        waiting=waiting,
        aside=aside,
    )
    if result is None:
        return
    show_headline(result, bar=form.bar)

    def drawn() -> list[Any]:
        return [*study.figures(result).values()]

    if not show_charts(drawn, key=name, alt_text=result.headline, result=result):
        return
    show_downloads(result, drawn, lambda: study.figures(result), view=name)
    for table_name, table in result.tables.items():
        show_table(table, table_name)
    show_method(result, CAVEATS, FORMULAS)


def _spec_of(kind: Callable[..., Spec], values: dict[str, Any]) -> Spec | None:
    """The experiment that is asked for; None, with a sentence, where there is none."""
    try:
        return kind(**values)
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None


def _of_subwords(view: str, spec: AlignSpec) -> bool:
    """Whether the rows asked for are those of this experiment, which maps every subword; a sentence where not."""
    if spec.items != "words":
        st.info(f"{view} maps every subword: choose words as rows under Options.", icon=":material/info:")
    return spec.items == "words"


def _stitching(form: Form[AlignSpec], spec: AlignSpec, aside: DeltaGenerator) -> None:
    """Models with one task's head, stitched at every layer; the study's own models have no head for a task."""
    if _of_subwords(STITCHING, spec):
        _experiment(STITCHING, form, spec, aside, {})


def _check(form: Form[AlignSpec], spec: AlignSpec, aside: DeltaGenerator) -> None:
    """The bijection check of the first model."""
    _experiment(CHECK, form, spec, aside, {"model": spec.models[0], "items": spec.items, "split": spec.split})


def _attention(form: Form[AlignSpec], spec: AlignSpec, aside: DeltaGenerator) -> None:
    """Matched heads and mapped attention outputs of the first group."""
    if _of_subwords(ATTENTION, spec):
        _experiment(ATTENTION, form, spec, aside, {"models": spec.models})


def _protocol(form: Form[AlignSpec], spec: AlignSpec, aside: DeltaGenerator) -> None:
    """The published protocol and ours, on the first pair."""
    _experiment(PROTOCOL, form, spec, aside, {"models": spec.models[:2]})


EXPERIMENTS: dict[str, Callable[[Form[AlignSpec], AlignSpec, DeltaGenerator], None]] = {
    STITCHING: _stitching,
    CHECK: _check,
    ATTENTION: _attention,
    PROTOCOL: _protocol,
}
