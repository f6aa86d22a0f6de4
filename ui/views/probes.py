"""The view of scores by layer on the probe page, and what its views show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import options
from core.options import options_of
from core.probes.sentence.study import SENTENCE_SHOWN
from core.probes.structural.arcs import FAR
from core.probes.trees import charts
from core.probes.trees.conllu import predicted_conllu
from core.probes.trees.tables import NAMES, SELECTIVITY, metric_label
from core.probes.trees.text import arcs_sentence, scores_sentence
from ui import lessons
from ui.study.controls import KEPT
from ui.study.downloads import held, show_downloads
from ui.study.figures import show_charts
from ui.study.layers import Picking
from ui.study.results import show_headline, show_table
from ui.views.probe_sentence import SOURCES, TYPED

if TYPE_CHECKING:
    from core.probes.trees.result import ProbeResult
    from core.probes.trees.spec import ProbeSpec
    from core.results.drawing.context import Context
    from core.results.drawing.vega import Chart
    from ui.study.forms import Form

SENTENCE_VIEW = "Sentence"
METRICS_HELP = "  \n".join(
    (
        "**UUAS**: share of the tree's edges that are predicted, direction ignored.",
        "**DSpr.**: rank correlation of predicted and true distances between words.",
        "**root accuracy**: share of sentences whose root is predicted.",
        "**NSpr.**: rank correlation of predicted and true depths of words.",
        "**Selectivity**: the score minus that of the same probes on control trees.",
    )
)


@dataclass(frozen=True)
class Shown(options.Spec):
    """What the views show: kept in the address, not part of the study."""

    metric: str = options.choice("Metric", next(iter(NAMES)), NAMES, help=METRICS_HELP, titled=True)
    selectivity: bool = options.flag(
        "Selectivity",
        False,
        help="Shows the score minus that on control trees, averaged over their draws.",
    )
    source: str = options.choice(
        "Sentence", TYPED, SOURCES, help="Where the sentence comes from.", titled=True
    )
    sentence: str = options.line(
        "Sentence", SENTENCE_SHOWN, help="The sentence whose tree is predicted and drawn."
    )
    tree_of: str = options.line("Model", help="The model from whose vectors the tree is predicted.")


OPTIONS = options_of(Shown)


def _sentence_at(point: Mapping[str, Any]) -> dict[str, Any]:
    """The address of the sentence at the layer that was clicked."""
    return {"view": SENTENCE_VIEW, "layer": int(point["layer"])} if "layer" in point else {}


def scores_view(form: Form[ProbeSpec], result: ProbeResult) -> None:
    """Scores by layer in one metric, differences from the base, and the tables."""
    there = [metric for metric in NAMES if (result.table["metric"] == metric).any()]
    selective = (result.table["metric"] == there[0] + SELECTIVITY).any()
    address = form.address
    address.among("metric", there, there[0])
    with form.bar, st.popover("Metric", icon=":material/tune:", help=METRICS_HELP):
        for name in ("metric", "selectivity"):
            address.tell(name)
        chosen = st.segmented_control(
            "Metric",
            there,
            required=True,
            key=address.key("metric"),
            format_func=NAMES.__getitem__,
            label_visibility="collapsed",
            **KEPT,
        )
        less = selective and st.toggle(
            "Selectivity",
            key=address.key("selectivity"),
            help=address.options["selectivity"].help,
            **KEPT,
        )
    metric = f"{chosen}{SELECTIVITY}" if less else str(chosen)
    show_headline(result, scores_sentence(result, metric), form.bar)
    differences = result.tables["differences"]
    compared = (differences["metric"] == metric).any()

    added = None if less else result.tables.get("added")

    def drawn(*, context: Context) -> list[Chart]:
        makers = [charts.scores_chart, *([charts.difference_chart] if compared else [])]
        makers += [charts.added_chart] if added is not None else []
        return [make(result, metric, context=context) for make in makers]

    show_charts(
        drawn,
        key="scores",
        alt_text=result.headline,
        result=result,
        view=metric,
        mark=lessons.mark("probe"),
        pick=Picking(form.address, ("layer",), _sentence_at).made,
    )
    st.caption("Click a point to see a sentence at its layer.")
    heads = any(probes.heads is not None for probes in result.probes.values())
    more = {"predicted.conllu": partial(predicted_conllu, result)} if heads else {}
    show_downloads(result, drawn, lambda: charts.figures(result), view=metric, more=more)
    if heads:
        st.download_button(
            "Download predicted trees",
            held(lambda: predicted_conllu(result), "palimpsest-predicted.conllu", "text/plain"),
            "palimpsest-predicted.conllu",
            "text/plain",
            key="download_predicted",
            on_click="ignore",
            icon=":material/account_tree:",
            help="Predicted heads of the test sentences as CoNLL-U, each model at its best layer.",
        )
    rows = result.table[result.table["metric"] == metric]
    margins = result.tables["margins"]
    with st.expander(f"Table: {metric_label(metric)}", icon=":material/table:"):
        show_table(rows, "scores")
        show_table(margins[margins["metric"] == metric], "margins")
        best = result.tables["best_layers"]
        show_table(best[best["metric"] == metric], "best_layers")
        if added is not None:
            show_table(added[added["metric"] == metric], "added")


def arcs_view(form: Form[ProbeSpec], result: ProbeResult) -> None:
    """UUAS by the length of the arcs, without adjacent arcs by layer, and the tables."""
    if "arcs" not in result.tables:
        show_headline(result, bar=form.bar)
        st.info(
            "Predicted trees need both probes. Choose distance and depth to see scores by arc "
            "length.",
            icon=":material/info:",
        )
        return
    show_headline(result, arcs_sentence(result), form.bar)

    def drawn(*, context: Context) -> list[Chart]:
        return [
            charts.arc_chart(result, context=context),
            charts.far_chart(result, context=context),
        ]

    show_charts(drawn, key="arcs", alt_text=result.headline, result=result, view="arcs")
    show_downloads(result, drawn, lambda: charts.figures(result), view="arcs")
    with st.expander("Table: UUAS by arc length", icon=":material/table:"):
        show_table(result.tables["arcs"], "arcs")
        margins = result.tables["arc_margins"]
        show_table(margins[margins["arcs"] == FAR], "arc_margins")
