"""Experiments of the probe page: tags and labels, labelled trees, training, minimal pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core import options
from core.options import Spec, options_of
from core.studies.probes.behaviour.study import STUDY as BEHAVIOUR_STUDY
from core.studies.probes.edges.charts import drawable
from core.studies.probes.edges.study import STUDY as EDGE_STUDY
from core.studies.probes.training.charts import METRICS
from core.studies.probes.training.study import STUDY as TRAINING_STUDY
from core.studies.probes.trees.spec import ProbeSpec
from core.studies.probes.trees.tables import NAMES
from extras.probes.polar.charts import drawable as drawable_metrics
from extras.probes.polar.study import STUDY as POLAR_STUDY
from extras.probes.polar.tables import NAMES as POLAR_NAMES
from extras.probes.removal.charts import drawable as drawable_costs
from extras.probes.removal.study import STUDY as REMOVAL_STUDY
from extras.probes.removal.tables import NAMES as COST_NAMES
from ui.study.controls import KEPT
from ui.study.experiment import Experiment, with_added

if TYPE_CHECKING:
    from core.results.export import Result
    from ui.frame.links import Address

EDGES, TRAINING, BEHAVIOUR = EDGE_STUDY.title, TRAINING_STUDY.title, BEHAVIOUR_STUDY.title
POLAR, REMOVAL = POLAR_STUDY.title, REMOVAL_STUDY.title
MEASURES = {
    "Accuracy": "accuracy",
    "Code length": "bits",
    "Selectivity": "selectivity",
    "Unseen words": "unseen",
    "Gain over the window": "gain",
}
TEXT = ("corpus", "genres", "sentences", "heads", "pipeline", "draws", "seed")


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: kept in the address, not part of the study."""

    score: str = options.choice(
        "Score",
        METRICS[0],
        {metric: NAMES[metric] for metric in METRICS},
        has_titles=True,
        help="The score in the charts.",
    )


def choose_measure(address: Address, result: Result) -> tuple[str]:
    """Ask for the measure of edge probes, of those that the result has."""
    there = [name for name, measure in MEASURES.items() if drawable(result, measure)]
    chosen = st.segmented_control(
        "Measure", there, default=there[0], required=True, key=address.key("edge measure"),
        label_visibility="collapsed",
    )  # fmt: skip
    return (MEASURES[str(chosen)],)


def choose_metric(address: Address, result: Result) -> tuple[str]:
    """Ask for the metric of polar probes, of those that the result has."""
    there = drawable_metrics(result)
    chosen = st.segmented_control(
        "Metric", there, default=there[0], required=True, key=address.key("polar metric"),
        format_func=POLAR_NAMES.__getitem__, label_visibility="collapsed",
    )  # fmt: skip
    return (str(chosen),)


def choose_cost(address: Address, result: Result) -> tuple[str]:
    """Ask for the metric of costs, of those that the result has."""
    there = drawable_costs(result)
    chosen = st.segmented_control(
        "Cost", there, default=there[0], required=True, key=address.key("cost metric"),
        format_func=COST_NAMES.__getitem__, label_visibility="collapsed",
    )  # fmt: skip
    return (str(chosen),)


def choose_score(address: Address, result: Result) -> tuple[str]:
    """Ask for the score of probes through training."""
    score = EXPERIMENTS[TRAINING].key("score")
    address.tell(score)
    chosen = st.segmented_control(
        "Score", METRICS, required=True, key=address.key(score), format_func=NAMES.__getitem__,
        label_visibility="collapsed", **KEPT,
    )  # fmt: skip
    return (str(chosen),)


EXPERIMENTS = with_added(
    "probe",
    ProbeSpec,
    {
        EDGES: Experiment(
            EDGE_STUDY,
            shared=("models", "untrained", "sinks", *TEXT),
            choose=choose_measure,
            models=lambda asked: asked.probed,
        ),
        POLAR: Experiment(
            POLAR_STUDY,
            shared=("models", "untrained", "rank", "seeds", "epochs", *TEXT),
            fixed=("sinks",),
            choose=choose_metric,
            models=lambda asked: asked.probed,
        ),
        TRAINING: Experiment(
            TRAINING_STUDY,
            shared=("rank", "seeds", "epochs", "sinks", *TEXT),
            display=options_of(Display),
            choose=choose_score,
            models=lambda asked: (asked.end, *asked.checkpoints),
        ),
        REMOVAL: Experiment(
            REMOVAL_STUDY,
            shared=("models", "epochs", *TEXT),
            choose=choose_cost,
        ),
        BEHAVIOUR: Experiment(
            BEHAVIOUR_STUDY,
            shared=TEXT,
            fixed=("probes", "targets", "seeds", "sinks"),
            models=lambda asked: asked.refs,
        ),
    },
)
