"""The tree that a layer predicts for a sentence, drawn: arcs, distances, the probe's plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core.errors import counted
from core.studies.probes.sentence.result import predicted_tree
from ui.frame.shared import made_once
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.figures import draw_spec, page_specs, show_charts
from ui.study.results import show_sentence, show_tables
from ui.views.sentence.source import which_of

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.results.export import Result
    from core.studies.probes.sentence.result import PredictedTree
    from core.studies.probes.sentence.study import SentencesRead
    from core.studies.probes.trees.result import TrainedResult

LEGENDS = 128  # pixels of legends and margins around the arcs
# Focusable with the tab key, so that the arrow keys scroll a sentence wider than the page.
ARCS_SHOWN = (
    '<p class="small" tabindex="0">The parse is above the words and the prediction below. '
    "Triangles mark the roots. Point at an arc to see its distances.</p>"
)
ARROWS_SHOWN = (
    '<p class="small" tabindex="0">The parse is above the words and the prediction below. Arrows '
    "point to dependents, triangles mark the roots. Point at an arc to see its labels.</p>"
)


def show_prediction(
    result: TrainedResult,
    read: SentencesRead,
    model: str,
    layer: int,
    headline: DeltaGenerator,
) -> None:
    """Draw the tree that a model's layer predicts for one of the sentences, with its headline in
    its place."""
    number = which_of(read.trees)
    tree = made_once(
        result,
        ("sentence", model, layer, read.trees[number]),
        lambda: predicted_tree(result, read, number, model, layer),
    )
    line = tree.headline
    with headline:
        show_sentence(read.cautioned(line))
        for notice in read.notices:
            st.caption(plain(notice))
    written = made_once(tree, ("result", line), lambda: tree.result(result, read, line))
    _show(tree, written)


def _show(tree: PredictedTree, result: Result) -> None:
    """Draw arcs, distances and the plane; then downloads, and the words as a table."""
    _draw_arcs(tree)
    show_charts(
        tree.distances,
        key="distances",
        alt_text="Distances between words, in the parse and predicted.",
        result=tree,
    )
    show_charts(tree.plane, key="plane", alt_text="Words in the probe's subspace.", result=tree)
    conllu = {"sentence.conllu": tree.conllu}
    show_downloads(result, tree.arcs, tree.figures, view="arcs", name=tree.name, more=conllu)
    show_tables({"sentence_words": result.table})


def _draw_arcs(tree: PredictedTree) -> None:
    """Draw the arcs at their own width, so that a long sentence is scrolled, not compressed."""
    agreed, missed = len(tree.view.agreed), len(tree.view.missed)
    both = f"{agreed} of {counted(agreed + missed, 'edge is', 'edges are')}"
    shared = page_specs(tree.arcs, key="arcs", result=tree)[0]
    spec = {name: part for name, part in shared.items() if name != "autosize"}
    height = sum(part["height"] for part in spec.get("vconcat", [spec])) + LEGENDS
    # A container with a height has scroll bars.
    with st.container(key="arcs", height=round(height), border=False):
        draw_spec(
            spec,
            width="content",
            key="arcs_chart",
            alt_text=f"Parse above, predicted tree below: {both} in both.",
        )
        st.html(ARROWS_SHOWN if tree.view.labels else ARCS_SHOWN)
