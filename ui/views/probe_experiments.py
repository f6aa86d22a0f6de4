"""Experiments of the probe page: tags and labels, probes through training, minimal pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from core import options
from core.options import Spec, options_of
from core.probes.behaviour import charts as behaviour_charts
from core.probes.behaviour.study import STUDY as BEHAVIOUR_STUDY
from core.probes.behaviour.tables import longest_run
from core.probes.behaviour.text import pairs_sentence
from core.probes.edges import charts as edge_charts
from core.probes.edges.study import STUDY as EDGE_STUDY
from core.probes.edges.tables import ACCURACY
from core.probes.training import charts as training_charts
from core.probes.training.charts import METRICS
from core.probes.training.study import STUDY as TRAINING_STUDY
from core.probes.training.text import view_sentence
from core.probes.trees.tables import NAMES
from core.results.drawing.panels import Panels
from core.results.drawing.training import loss_chart
from ui.study.controls import KEPT
from ui.study.experiment import Experiment, Shown

if TYPE_CHECKING:
    from core.results.drawing.context import Context
    from core.results.export import Result
    from ui.frame.links import Address

EDGES, TRAINING, BEHAVIOUR = EDGE_STUDY.title, TRAINING_STUDY.title, BEHAVIOUR_STUDY.title
MEASURES = {
    "Accuracy": "accuracy",
    "Code length": "bits",
    "Selectivity": "selectivity",
    "Unseen words": "unseen",
}
SCORE = "step_score"  # in the address
TEXT = ("corpus", "genres", "sentences", "heads", "pipeline", "draws", "seed")


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: kept in the address, not part of the study."""

    score: str = options.choice(
        "Score",
        METRICS[0],
        {metric: NAMES[metric] for metric in METRICS},
        titled=True,
        help="The score in the charts.",
    )


def edges_shown(address: Address, result: Result) -> Shown:
    """A panel for each target in the chosen measure, and the rows of the tables that are drawn."""
    there = [name for name, measure in MEASURES.items() if edge_charts.drawable(result, measure)]
    chosen = st.segmented_control(
        "Measure", there, default=there[0], required=True, key=address.key("edge measure"),
        label_visibility="collapsed",
    )  # fmt: skip
    measure = MEASURES[str(chosen)]
    targets = edge_charts.drawable(result, measure)
    selective = measure == "selectivity"
    metric, labels = (ACCURACY, "selectivity") if selective else (measure, "real")
    margins = result.tables["edge_margins"]
    tables = {
        "edges": result.table[
            (result.table["metric"] == metric) & (result.table["labels"] == labels)
        ]
    }
    tables |= {} if selective else {"edge_margins": margins[margins["metric"] == metric]}
    tables |= {"codes": result.tables["codes"]} if measure == "bits" else {}
    return Shown(
        lambda *, context: Panels(
            [edge_charts.edges_chart(result, name, measure, context=context) for name in targets],
            across=3,
        ),
        tables,
        view=measure,
    )


def training_shown(address: Address, result: Result) -> Shown:
    """The best layer in the chosen score, the loss, and every layer."""
    address.tell(SCORE)
    metric = str(
        st.segmented_control(
            "Score", METRICS, required=True, key=address.key(SCORE), format_func=NAMES.__getitem__,
            label_visibility="collapsed", **KEPT,
        )
    )  # fmt: skip

    def charts(*, context: Context) -> Panels:
        losses = result.tables["loss"]
        loss = [loss_chart(losses, context=context)] if len(losses) > 1 else []
        best = training_charts.best_chart(result, metric, context=context)
        layers = training_charts.layers_chart(result, metric, context=context)
        return Panels([best, *loss, layers], across=2)

    tables = {
        name: table[table["metric"] == metric] if "metric" in table.columns else table
        for name, table in result.tables.items()
    }
    return Shown(charts, tables, view_sentence(result.tables, metric), metric)


def behaviour_shown(address: Address, result: Result) -> Shown:
    """Accuracy through training and by kind of pairs, and beside each probe's score."""

    def charts(*, context: Context) -> Panels:
        steps = (
            [behaviour_charts.steps_chart(result, context=context)]
            if longest_run(result.table["model"])
            else []
        )
        beside = [
            behaviour_charts.beside_chart(result, metric, probe, context=context)
            for metric, probe in behaviour_charts.panels(result)
        ]
        return Panels(
            [*steps, behaviour_charts.kinds_chart(result, context=context), *beside], across=2
        )

    return Shown(charts, result.tables, pairs_sentence(result.statements))


EXPERIMENTS = {
    EDGES: Experiment(
        EDGE_STUDY,
        own={"targets": "targets", "penalty": "penalty", "control_labels": "controls"},
        shared=("models", "untrained", *TEXT),
        shown=edges_shown,
        models=lambda asked: asked.probed,
    ),
    TRAINING: Experiment(
        TRAINING_STUDY,
        own={"end": "end", "steps": "steps", "step_controls": "controls"},
        shared=("rank", "seeds", "epochs", *TEXT),
        display=[replace(option, name=SCORE) for option in options_of(Display)],
        shown=training_shown,
        models=lambda asked: (asked.end, *asked.checkpoints),
    ),
    BEHAVIOUR: Experiment(
        BEHAVIOUR_STUDY,
        own={"scored": "models", "pairs": "pairs", "pair_kinds": "kinds"},
        shared=TEXT,
        shown=behaviour_shown,
        models=lambda asked: asked.refs,
    ),
}
