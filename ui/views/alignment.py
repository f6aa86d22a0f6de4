"""Views of the seed-alignment study: errors, the space before and after a map, training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from core import options
from core.alignment.maps.registry import METHODS
from core.alignment.seeds import charts, curves
from core.alignment.seeds import view_text as view_headlines
from core.alignment.seeds.space import space_chart
from core.alignment.seeds.spec import AlignSpec
from core.alignment.seeds.statements import best_map, judged
from core.options import Spec, options_of
from core.results.drawing.panels import Panels
from core.results.names import short_names
from ui import lessons
from ui.frame.links import Address
from ui.study.controls import KEPT
from ui.study.downloads import show_downloads
from ui.study.forms import Form
from ui.study.layers import Picking, layer_slider, played
from ui.study.results import (
    cautioned,
    show_charts,
    show_notes,
    show_sentence,
    show_table,
    show_view_headline,
)
from ui.views.alignment_experiments import EXPERIMENTS, ROTATION

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.drawing.vega import Chart
    from core.results.export import Result

METHOD, LAYER, GAINS, GRID, PAIRS, SPACE, TRAINING = (
    "By method",
    "By layer",
    "What the layers add",
    "Layer into layer",
    "Pair by pair",
    "The space",
    "Training",
)
STUDY_VIEWS = {
    METHOD: "held-out error of every map",
    LAYER: "held-out error by layer",
    GAINS: "hidden states compared with the embedding table",
    GRID: "error from every layer into every layer",
    PAIRS: "error of every pair of models",
    SPACE: "words before and after a map",
    TRAINING: "validation error during training",
}
GROUPS = {
    "Errors": (METHOD, LAYER, GAINS, GRID, PAIRS),
    "Maps": (SPACE, TRAINING, ROTATION),
    "Experiments": tuple(name for name in EXPERIMENTS if name != ROTATION),
}
SENTENCES: dict[str, Callable[[Result], str]] = {
    METHOD: view_headlines.method_sentence,
    LAYER: view_headlines.layer_sentence,
    GAINS: view_headlines.gains_sentence,
    GRID: view_headlines.grid_sentence,
    PAIRS: view_headlines.pairs_sentence,
    TRAINING: view_headlines.training_sentence,
}
MISSING = {  # what to add to the maps of a study that has nothing to draw in a view
    TRAINING: "No network was trained: add the invertible network or the MLP to the maps above.",
    GAINS: "There is nothing to compare: add kernel ridge and the static window to the maps above.",
}
PICKED = {
    LAYER: "layer",
    GRID: "target_layer",
}  # the column with the layer of a chart's points or cells


def _space_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the space of the layer that was clicked; of a cell, the target's."""
    layer = next((point[name] for name in PICKED.values() if name in point), None)
    return {} if layer is None else {"view": SPACE, "layer": int(layer)}


def show_view(form: Form[AlignSpec], result: Result, view: str) -> None:
    """Draw one view of the main study: its charts, its downloads and their table."""
    if view == SPACE:
        show_notes(result, form.bar, [result.headline])
    else:
        show_view_headline(result, view, lambda result, view: SENTENCES[view](result), form.bar)
    table, parts = view_charts(result, view)
    if not parts:
        st.info(
            MISSING.get(view, "This study has nothing to draw here."),
            icon=":material/info:",
        )
        return
    if view == SPACE:
        played(form.address, space)(form.address, result)
    else:

        def drawn(*, context: Context) -> list[Chart]:
            return [draw(context=context) for draw in parts]

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
            st.caption("Click a point to open the space at its layer.")
        elif view == GRID:
            st.caption("Click a cell to open the space at its target layer.")
        show_downloads(result, drawn, lambda: charts.figures(result), table=table, view=view)
    show_table(result.tables[table], table)


def view_charts(result: Result, view: str) -> tuple[str, list[Callable[..., Chart]]]:
    """Return the table of a view and functions that draw its charts; none where the study lacks the
    numbers."""
    groups = dict.fromkeys(result.tables["layers"]["group"])
    if view == LAYER:
        return "layers", [partial(curves.layer_chart, result, str(group)) for group in groups]
    if view == GRID:
        return "grid", [partial(charts.grid_chart, result)] if "grid" in result.tables else []
    if view == GAINS:
        return "gains", [partial(curves.gain_chart, result)] if "gains" in result.tables else []
    if view == TRAINING:
        return "curves", [
            partial(curves.curve_chart, result, method) for method in curves.trained(result)
        ]
    if "models" not in groups:
        return "alignment", []
    if view == PAIRS:
        means = result.tables["methods"]
        best = best_map(means, judged(means))
        return "alignment", [partial(charts.pair_chart, result, best)]
    return "methods", [partial(charts.method_chart, result)]


def space(address: Address, result: Result) -> None:
    """Draw source, mapped source and target of one pair at one layer; the slider starts no
    computation."""
    refs, methods = list(result.spec["models"]), list(result.spec["methods"])
    drawn = np.isfinite(result.arrays["mapped_points"]).any((-1, -2, -3))
    pairs = [(a, b) for a in range(len(refs)) for b in range(len(refs)) if drawn[:, a, b].any()]
    headline = st.container()  # its sentence depends on the map chosen below
    left, middle, right = st.columns([3, 2, 4], vertical_alignment="bottom")
    names = short_names(refs)
    named = {" into ".join((refs[a], refs[b])): (a, b) for a, b in pairs}
    first = next(iter(named))  # "" stands for it in the address
    if address["pair"] == first:
        address.set("pair", "")
    address.among("pair", named, "")
    chosen = left.selectbox(
        "Pair",
        ["", *list(named)[1:]],
        key=address.key("pair"),
        format_func=lambda pair: " into ".join(
            names[refs[number]] for number in named[pair or first]
        ),
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

    def parts(*, context: Context) -> Panels:
        ends = (refs[source], refs[target])
        return Panels(
            [space_chart(result, *ends, method, index, p, context=context) for p in places],
            inline=True,
        )

    view = (source, target, method, index)
    shown = f"Words of {refs[source]} and {refs[target]}, before and after the map"
    show_charts(parts, key="space", alt_text=shown, result=result, view=view)
    names = short_names((refs[source], refs[target]))
    called = f"space {names[refs[source]]} into {names[refs[target]]} {method} layer {layer}"
    show_downloads(
        result,
        parts,
        lambda: charts.figures(result),
        table="alignment",
        view=("space", *view),
        name=called,
    )


@dataclass(frozen=True)
class Shown(Spec):
    """What *The space* shows; part of the address, not of the study."""

    pair: str = options.line("Pair", help="The source and the target of the map shown.")
    map: str = options.choice(
        "Map", "", {"": ""} | dict.fromkeys(METHODS, ""), help="The map shown."
    )


SHOWN = options_of(Shown)
