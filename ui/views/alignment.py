"""Views of the seed-alignment study: errors, the space before and after a map, training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import options
from core.maths.maps.registry import METHODS
from core.options import Spec, options_of
from core.results.names import short_names
from core.studies.alignment.seeds.space import first_map, mapped_pairs, maps_between
from core.studies.alignment.seeds.spec import AlignSpec
from core.studies.alignment.seeds.study import STUDY
from core.studies.alignment.seeds.views import GRID, LAYER, SPACE
from ui.frame.links import Address
from ui.study import results
from ui.study.controls import KEPT
from ui.study.forms import Form
from ui.study.layers import Picking, layer_slider, played

if TYPE_CHECKING:
    from core.results.export import Result
    from core.study import View


CAPTIONS = {
    LAYER: "Click a point to open the space at its layer.",
    GRID: "Click a cell to open the space at its target layer.",
}
PICKED = {
    LAYER: "layer",
    GRID: "target_layer",
}  # the column with the layer of a chart's points or cells


def _space_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """Link to the space of the layer that was clicked; of a cell, the target's."""
    layer = next((point[name] for name in PICKED.values() if name in point), None)
    return {} if layer is None else {"view": STUDY.words.view(SPACE).name, "layer": int(layer)}


def show_seeds(form: Form[AlignSpec], result: Result, view: View) -> None:
    """Draw one view of the main study: its charts, its downloads and their table."""
    if view.key == SPACE:
        results.show_menu(form, result, [result.cautioned()])
        if not mapped_pairs(result):
            st.info(view.missing, icon=":material/info:")
            return
        played(form.address, space)(form.address, result, view)
        results.show_rows(result, view)
        return
    results.show_headline(form, result, results.view_headline(result, view))
    pick = PICKED.get(view.key)
    results.show_view(
        result,
        view,
        figures=STUDY.figures,
        caption=CAPTIONS.get(view.key, ""),
        lesson=form.address.page if view is STUDY.views[0] else "",
        pick=Picking(form.address, (pick,), _space_at).made if pick else None,
        form=form,
    )


def space(address: Address, result: Result, view: View) -> None:
    """Draw source, mapped source and target of one pair at one layer; the slider starts no
    computation."""
    refs, pairs = list(result.spec["models"]), mapped_pairs(result)
    headline = st.container()  # its sentence depends on the map chosen below
    left, right = st.columns([2, 5], vertical_alignment="center")
    about = "Choose two models, and the map from one into the other."
    menu = left.popover("Pair and map", icon=":material/tune:", help=about)
    names = short_names(refs)
    named = {" into ".join(pair): pair for pair in pairs}
    first = next(iter(named))  # "" stands for it in the address
    if address["pair"] == first:
        address.set("pair", "")
    address.among("pair", named, "")
    for name in ("pair", "map"):
        address.tell(name)
    chosen = menu.selectbox(
        "Pair",
        ["", *list(named)[1:]],
        key=address.key("pair"),
        format_func=lambda pair: " into ".join(names[ref] for ref in named[pair or first]),
        help=address.options["pair"].help,
        **KEPT,
    )
    source, target = named[chosen or first]
    offered, usual = maps_between(result, source, target), first_map(result, source, target)
    if address["map"] == usual:
        address.set("map", "")
    address.among("map", offered, "")
    method = (
        menu.selectbox(
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
    choices = (source, target, method, layer)
    sentence = results.view_headline(result, view, *choices)
    with headline:
        results.show_sentence(result.cautioned(sentence))
    pair = short_names((source, target))
    results.show_figure(
        result,
        view,
        *choices,
        figures=STUDY.figures,
        key="space",
        name=f"space {pair[source]} into {pair[target]} {method} layer {layer}",
        moves=True,
    )


@dataclass(frozen=True)
class Shown(Spec):
    """What *The space* shows; part of the address, not of the study."""

    pair: str = options.line("Pair", help="The source and the target of the map shown.")
    map: str = options.choice(
        "Map", "", {"": ""} | dict.fromkeys(METHODS, ""), help="The map shown."
    )


SHOWN = options_of(Shown)
