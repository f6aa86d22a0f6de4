"""The sentence whose tree is drawn: typed, or one of the worst or best test sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import streamlit as st

from core.options.option import LONGEST_LINE
from core.results.numbers import text_of
from core.studies.probes.sentence.study import SentenceSpec, ranked_sentences, run_sentences
from ui.frame.identity import contents
from ui.frame.text import plain
from ui.study.controls import KEPT
from ui.study.run_panel import Request, run_panel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamlit.delta_generator import DeltaGenerator

    from core.studies.probes.sentence.study import SentencesRead
    from core.studies.probes.trees.data import Tree
    from core.studies.probes.trees.result import TrainedResult
    from ui.frame.links import Address

TYPED, WORST, BEST = "typed", "worst", "best"
SOURCES = {
    TYPED: "Type a sentence",
    WORST: "Worst test sentences",
    BEST: "Best test sentences",
}
BROWSED = 40  # worst or best sentences to choose from
BROWSED_HELP = "The number before a sentence is the share of its edges that the probe predicts."


def sentences_from(
    source: str,
    address: Address,
    place: DeltaGenerator,
    result: TrainedResult,
    model: str,
    layer: int,
) -> SentencesRead | None:
    """Ask for the sentence; return it as the model reads it, None until there is one."""
    spec = SentenceSpec(model, result.probes[model].layers, pipeline=result.pipeline)
    if source == TYPED:
        text = place.text_input(
            "Sentence",
            key=address.key("sentence"),
            max_chars=LONGEST_LINE,
            label_visibility="collapsed",
            **KEPT,
        )
        return _read(replace(spec, text=text or ""))
    with place:
        tree = _browsed(result, model, layer, worst=source == WORST)
    if tree is None:
        return None
    return _read(
        replace(spec, words=tree.words, heads=tree.heads, keep=tree.keep, labels=tree.labels)
    )


def which_of(trees: Sequence[Tree]) -> int:
    """Return the number of the sentence to draw; one of several is chosen."""
    if len(trees) == 1:
        return 0
    number = st.pills(
        "Sentence to draw", range(len(trees)), default=0, required=True,
        key=f"probe/which_{len(trees)}",
        format_func=lambda i: plain(_beginning(trees[i])),
    )  # fmt: skip
    return int(number or 0)


def _read(spec: SentenceSpec) -> SentencesRead | None:
    """Return the parsed sentence with its vectors, as a run of its own; None until it is
    finished."""
    request = Request(
        "sentence",
        spec,
        lambda progress, signal: run_sentences(spec, progress=progress, signal=signal),
        identity=contents(spec.model),
    )
    return cast("SentencesRead | None", run_panel(request, quiet=True))


def _browsed(result: TrainedResult, model: str, layer: int, *, worst: bool) -> Tree | None:
    """Ask for a test sentence, among those with the lowest or highest UUAS at this layer."""
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


def _beginning(tree: Tree, letters: int = 40) -> str:
    text = " ".join(tree.words)
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
