"""Edge probing on the probe page: its own controls, its charts by target, and what to beware of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from core.errors import PalimpsestError
from core.options import Option, options_of
from core.probes.edges import charts as edge_charts
from core.probes.edges.spec import EdgeSpec
from core.probes.edges.study import STUDY as EDGE_STUDY
from core.probes.edges.tables import ACCURACY
from core.probes.trees.spec import ProbeSpec
from core.results.drawing.panels import Panels
from core.results.export import Result
from ui.frame.text import plain
from ui.study.downloads import show_downloads
from ui.study.experiments import result_of
from ui.study.forms import Form
from ui.study.results import show_charts, show_headline, show_method, show_table
from ui.study.views import contents

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

EDGES, STUDY = "Tags and labels", "edge probes"
MEANING = "parts of speech, dependency labels, head distances: accuracy and code length"
OWN = {"targets": "targets", "penalty": "penalty", "control_labels": "controls"}  # name in the address -> option
SHARED = ("models", "corpus", "genres", "sentences", "heads", "pipeline", "untrained", "draws", "seed")
VIEWS = {
    "Accuracy": "accuracy",
    "Code length": "bits",
    "Selectivity": "selectivity",
    "New words": "unseen",
}
FORMULAS = {
    "A linear classifier of a word's vector, or of a head's and its dependent's": (
        r"p(y \mid x) = \operatorname{softmax}(W x)_y, \qquad "
        r"\min_W -\sum_i \log p(y_i \mid x_i) + \tfrac{\lambda}{2} \lVert W \rVert^2"
    ),
    "Online code of the labels, in blocks that end at t_1, t_2 ... t_S = n": (
        r"L = t_1 \log_2 K - \sum_{s=1}^{S-1} \log_2 p_{W_s}(y_{t_s+1 \ldots t_{s+1}} \mid x_{t_s+1 \ldots t_{s+1}})"
    ),
}
CAVEATS = """
**What would mislead you here**

- **Most of a tag is its word.** A table of the commonest label of each word reads no context. Layer 0, where words
  stand alone, is a stronger rival still: its vectors saw more text than the table. What counts is the margin over
  both, and the accuracy on words that are not in training.
- **A classifier can learn labels that mean nothing.** Control labels, one drawn at random for each word type, are
  learned from word identity alone; selectivity is how far the real accuracy stands above theirs. It is largest where
  words have been forgotten, so a rising selectivity says that words fade as much as that syntax appears.
- **Accuracy hides effort.** The code length also counts how many examples it took: of two layers with one accuracy the
  shorter code is the one where the label is easier to find. It depends on the order of the sentences, which is one
  random order here.
- **Trees and tags drawn by a parser are parses, not gold.** What is probed is agreement with the parser.
- **Edges are given.** The label is asked of a head and a dependent that somebody else joined; head distance is asked
  of the dependent alone.
- **Present is not used.** That a label can be read off the vectors does not show that the model reads it.
"""


def _own_options() -> list[Option]:
    known = {option.name: option for option in options_of(EdgeSpec)}
    return [replace(known[name], name=ours) for ours, name in OWN.items()]


OPTIONS = _own_options()


def edge_view(form: Form[ProbeSpec], spec: ProbeSpec, aside: DeltaGenerator) -> None:
    """Controls and the button that starts the study, then its result."""
    asked = _asked(form, spec)
    texts = form.texts

    identity = (form.identity, *contents(*(asked.probed if asked is not None else ())))

    def run(progress: Any, cancel: Any) -> Any:
        return EDGE_STUDY.run(asked, texts, progress=progress, cancel=cancel) if asked is not None else None

    waiting = f"{MEANING[0].upper()}{MEANING[1:]}. It starts when you press its button."
    result = result_of(
        form,
        EDGES,
        OWN,
        asked,
        run,
        pricing=EDGE_STUDY.price,
        name=STUDY,
        identity=identity,
        waiting=waiting,
        aside=aside,
    )
    if result is None:
        return
    show_headline(result, bar=form.bar)
    if len(result.table):
        _draw(form, result)
        show_method(result, CAVEATS, FORMULAS)


def _draw(form: Form[ProbeSpec], result: Result) -> None:
    """A panel for each target in one measure, the downloads, the table."""
    there = [name for name, view in VIEWS.items() if edge_charts.drawable(result, view)]
    chosen = st.segmented_control(
        "Measure", there, default=there[0], required=True, key=form.address.key("edge measure"),
        label_visibility="collapsed",
    )  # fmt: skip
    view = VIEWS[str(chosen)]
    targets = edge_charts.drawable(result, view)

    def drawn() -> Panels:
        return Panels([edge_charts.edges_chart(result, target, view) for target in targets], across=3)

    show_charts(drawn, key="edges", alt_text=result.headline, result=result, view=view)
    show_downloads(result, drawn, lambda: edge_charts.figures(result), view=view)
    labels = "selectivity" if view == "selectivity" else "real"
    metric = ACCURACY if view == "selectivity" else view
    rows = result.table[(result.table["metric"] == metric) & (result.table["labels"] == labels)]
    margins = result.tables["edge_margins"]
    with st.expander(f"Table: {edge_charts.VIEWS[view]}", icon=":material/table:"):
        show_table(rows, "edges")
        if (margins["metric"] == metric).any() and labels == "real":
            show_table(margins[margins["metric"] == metric], "edge_margins")
        if view == "bits":
            show_table(result.tables["codes"], "codes")


def _asked(form: Form[ProbeSpec], spec: ProbeSpec) -> EdgeSpec | None:
    """The study that is asked for; None, with a sentence, where there is none."""
    shared = {name: getattr(spec, name) for name in SHARED}
    try:
        return EdgeSpec(**shared, **{name: form.address[ours] for ours, name in OWN.items()})
    except PalimpsestError as error:
        st.error(plain(str(error)), icon=":material/error:")
        return None
