"""The view of one sentence on the probe page: its parse and the tree that a layer predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import streamlit as st

from core.options.option import LONGEST_LINE
from core.results.names import short_name
from core.results.numbers import text_of
from core.studies.probes.sentence import charts as sentence_charts
from core.studies.probes.sentence import word_charts
from core.studies.probes.sentence.result import figures as sentence_figures
from core.studies.probes.sentence.result import sentence_result
from core.studies.probes.sentence.study import SentenceSpec, ranked_sentences, run_sentences
from core.studies.probes.sentence.text import sentence_headline, statement_of
from core.studies.probes.trees.result import conllu_block
from ui.frame.identity import contents
from ui.frame.links import Address
from ui.frame.shared import made_once
from ui.frame.text import plain
from ui.study.controls import KEPT
from ui.study.downloads import show_downloads
from ui.study.experiments import experiment_result
from ui.study.figures import draw_spec, page_specs, show_charts
from ui.study.layers import layer_slider, played
from ui.study.results import show_headline, show_menu, show_sentence, show_tables
from ui.study.run_panel import Request, run_panel
from ui.views.probe_experiments import EXPERIMENTS
from ui.views.probe_experiments import POLAR as POLAR_TITLE

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from core.maths.structural.predict import SentenceView
    from core.results.drawing.context import Context
    from core.results.drawing.vega import Chart
    from core.results.export import Result
    from core.studies.probes.sentence.study import SentencesRead
    from core.studies.probes.trees.data import Tree
    from core.studies.probes.trees.result import ProbeResult, TrainedResult
    from core.studies.probes.trees.spec import ProbeSpec
    from core.study import View
    from ui.study.forms import Form


STRUCTURAL, POLAR = "structural", "polar"
DRAWN_BY = {
    STRUCTURAL: "Structural probe",
    POLAR: "Polar probe",
}
TYPED, WORST, BEST = "typed", "worst", "best"
SOURCES = {
    TYPED: "Type a sentence",
    WORST: "Worst test sentences",
    BEST: "Best test sentences",
}
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
BROWSED = 40  # worst or best sentences to choose from
BROWSED_HELP = "The number before a sentence is the share of its edges that the probe predicts."


def sentence_view(form: Form[ProbeSpec], spec: ProbeSpec, result: ProbeResult, view: View) -> None:
    """One sentence: arcs, depths, distances and the probe's plane, at the layer of a slider.

    The arcs are those of the study's distance probe or, if chosen, of a polar probe, which gives
    them heads and labels.
    """
    form.address.tell("drawn_by")
    with form.bar:
        chosen = st.segmented_control(
            "Probe", list(DRAWN_BY), required=True, key=form.address.key("drawn_by"),
            format_func=DRAWN_BY.__getitem__, label_visibility="collapsed", **KEPT,
        )  # fmt: skip
    if chosen == POLAR:
        polar = experiment_result(form, EXPERIMENTS[POLAR_TITLE], spec)
        if polar is not None and not polar.table.empty:
            show_menu(form, polar)
            read = cast("TrainedResult", polar)
            played(form.address, _sentence)(form.address, read, list(read.probes))
        return
    drawable = models_with_trees(result)
    if not drawable:
        show_headline(form, result)
        st.info(view.missing, icon=":material/info:")
        return
    show_menu(form, result)
    played(form.address, _sentence)(form.address, result, drawable)


def models_with_trees(result: ProbeResult) -> list[str]:
    """List the models whose trees can be drawn: those with distance probes."""
    return [model for model, probes in result.probes.items() if probes.distance_maps is not None]


def _sentence(address: Address, result: TrainedResult, drawable: Sequence[str]) -> None:
    headline = st.container()  # filled once the edges are predicted
    left, right = st.columns([5, 2], vertical_alignment="center")
    for name in ("source", "sentence"):
        address.tell(name)
    source = left.segmented_control(
        "Sentence",
        list(SOURCES),
        required=True,
        key=address.key("source"),
        format_func=SOURCES.__getitem__,
        label_visibility="collapsed",
        **KEPT,
    )
    with right:
        model = _model_control(address, drawable)
    layers = result.probes[model].layers
    best = result.best_layer(model)
    left, right = st.columns([4, 3], vertical_alignment="center")
    with right:
        layer = layer_slider(
            address,
            layers,
            best,
            "Layer whose vectors the probe reads; 0 is the embeddings. "
            f"{best} is best for {short_name(model)}.",
        )
    address.update()
    spec = SentenceSpec(model, layers, pipeline=result.pipeline)
    if source == TYPED:
        text = left.text_input(
            "Sentence",
            key=address.key("sentence"),
            max_chars=LONGEST_LINE,
            label_visibility="collapsed",
            **KEPT,
        )
        read = _read(replace(spec, text=text or ""))
    else:
        with left:
            tree = _browsed(result, model, layer, worst=source == WORST)
        read = (
            None
            if tree is None
            else _read(
                replace(
                    spec, words=tree.words, heads=tree.heads, keep=tree.keep, labels=tree.labels
                )
            )
        )
    if read is not None:
        _show_prediction(result, read, model, layer, headline)


def _model_control(address: Address, drawable: Sequence[str]) -> str:
    """Draw the selector of the model whose vectors the probe reads."""
    offered = ["", *drawable[1:]]  # "" stands for the first
    if address["tree_of"] == drawable[0]:
        address.set("tree_of", "")
    address.among("tree_of", offered, "")
    chosen = st.selectbox(
        "Model",
        offered,
        key=address.key("tree_of"),
        format_func=lambda ref: f"Model: {short_name(ref or drawable[0])}",
        label_visibility="collapsed",
        **KEPT,
    )
    return str(chosen or drawable[0])


def _show_prediction(
    result: TrainedResult,
    read: SentencesRead,
    model: str,
    layer: int,
    headline: DeltaGenerator,
) -> None:
    """Draw the tree that a model's layer predicts, with its headline in the given place."""
    number = _which(read.trees)
    tree, vectors = read.trees[number], read.vectors[number]
    view = made_once(
        result,
        ("sentence", model, layer, tree),
        lambda: result.draw(model, layer, tree, vectors),
    )
    statement = statement_of(view, model, layer)
    line = sentence_headline(statement, parsed=result.parsed)
    with headline:
        show_sentence(read.cautioned(line))
        for notice in read.notices:
            st.caption(plain(notice))
    drawn = made_once(
        view,
        ("result", line),
        lambda: sentence_result(result, read, view, statement, line),
    )
    _draw(view, drawn, {"model": model, "layer": str(layer)})


def _read(spec: SentenceSpec) -> SentencesRead | None:
    """The parsed sentence with its vectors, as a run of its own; None until it is finished."""
    request = Request(
        "sentence",
        spec,
        lambda progress, signal: run_sentences(spec, progress=progress, signal=signal),
        identity=contents(spec.model),
    )
    sentences = run_panel(request, quiet=True)
    return cast("SentencesRead | None", sentences)


def _which(trees: Sequence[Tree]) -> int:
    """The sentence to draw; one of several is chosen."""
    if len(trees) == 1:
        return 0
    number = st.pills(
        "Sentence to draw", range(len(trees)), default=0, required=True,
        key=f"probe/which_{len(trees)}",
        format_func=lambda i: plain(_beginning(trees[i])),
    )  # fmt: skip
    return int(number or 0)


def _browsed(result: TrainedResult, model: str, layer: int, *, worst: bool) -> Tree | None:
    """A test sentence, chosen among those with the lowest or highest UUAS at this layer."""
    order = ranked_sentences(result, model, layer, worst=worst)[:BROWSED]
    if not order:
        st.info(
            "No test sentence has at least six words. Type a sentence instead.",
            icon=":material/info:",
        )
        return None
    scores = result.probes[model].uuas
    row = result.probes[model].layers.index(layer)

    def label(i: int) -> str:
        share = float("nan") if scores is None else float(scores[row, i])
        return f"{text_of(share, 'per cent')}  {_beginning(result.test[i], 70)}"

    chosen = st.selectbox(
        "Test sentence",
        order,
        key=f"probe/browsed_{model}_{layer}_{worst}_{result.study}",
        format_func=label,
        help=BROWSED_HELP,
        label_visibility="collapsed",
    )
    return result.test[int(chosen)]


def _draw(view: SentenceView, result: Result, comments: dict[str, str]) -> None:
    """Draw arcs, distances and the plane; then downloads, and the words as a table.

    Args:
        view: The sentence through the probes.
        result: Of `sentence_result`.
        comments: Of the CoNLL-U file.
    """
    agreed, edges = len(view.agreed), len(view.agreed) + len(view.missed)
    _draw_arcs(view, f"Parse above, predicted tree below: {agreed} of {edges} edges are in both.")
    show_charts(
        partial(word_charts.distance_charts, view),
        key="distances",
        alt_text="Distances between words, in the parse and predicted.",
        result=view,
    )
    show_charts(
        partial(word_charts.plane_chart, view),
        key="plane",
        alt_text="Words in the probe's subspace.",
        result=view,
    )
    conllu = {"sentence.conllu": partial(_conllu, view, comments)}
    name = f"{short_name(comments['model'])} layer {comments['layer']}"
    show_downloads(
        result,
        partial(_arcs, view),
        lambda: sentence_figures(view),
        view="arcs",
        name=name,
        more=conllu,
    )
    show_tables({"sentence_words": result.table})


def _arcs(view: SentenceView, *, context: Context) -> Chart:
    """The arcs, which are as large wherever they are drawn."""
    return sentence_charts.arcs_chart(view)


def _draw_arcs(view: SentenceView, alt_text: str) -> None:
    """Draw the arcs at their own width, so that a long sentence is scrolled, not compressed."""
    shared = page_specs(partial(_arcs, view), key="arcs", result=view)[0]
    spec = {name: part for name, part in shared.items() if name != "autosize"}
    height = sum(part["height"] for part in spec.get("vconcat", [spec])) + LEGENDS
    # A container with a height has scroll bars.
    with st.container(key="arcs", height=round(height), border=False):
        draw_spec(spec, width="content", key="arcs_chart", alt_text=alt_text)
        st.html(ARROWS_SHOWN if view.labels else ARCS_SHOWN)


def _conllu(view: SentenceView, comments: dict[str, str]) -> bytes:
    lines = conllu_block(view.words, view.predicted_heads, comments, view.labels)
    return ("\n".join(lines) + "\n").encode("utf8", "replace")


def _beginning(tree: Tree, letters: int = 40) -> str:
    text = " ".join(tree.words)
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
