"""Experiments of the probe page: tags and labels, labelled trees, training, minimal pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from core import options
from core.options import Spec, options_of
from core.results.metrics import titles_of
from core.studies.probes.behaviour.study import STUDY as BEHAVIOUR_STUDY
from core.studies.probes.edges.study import STUDY as EDGE_STUDY
from core.studies.probes.training.report import METRICS
from core.studies.probes.training.study import STUDY as TRAINING_STUDY
from core.studies.probes.trees.spec import ProbeSpec
from extras.probes.polar.study import STUDY as POLAR_STUDY
from extras.probes.removal.study import STUDY as REMOVAL_STUDY
from ui.study.controls import KEPT
from ui.study.experiment import Experiment, with_added

if TYPE_CHECKING:
    from core.results.export import Result
    from ui.frame.links import Address

EDGES, TRAINING, BEHAVIOUR = EDGE_STUDY.title, TRAINING_STUDY.title, BEHAVIOUR_STUDY.title
POLAR, REMOVAL = POLAR_STUDY.title, REMOVAL_STUDY.title
SCORES = titles_of(METRICS)
TEXT = ("corpus", "genres", "sentences", "heads", "pipeline", "draws", "seed")


@dataclass(frozen=True)
class Display(Spec):
    """What is shown of the study: kept in the address, not part of the study."""

    score: str = options.choice(
        "Score",
        METRICS[0],
        SCORES,
        has_titles=True,
        help="The score in the charts.",
    )


def choose_score(address: Address, result: Result) -> tuple[str]:
    """Ask for the score of probes through training."""
    score = EXPERIMENTS[TRAINING].key("score")
    address.tell(score)
    chosen = st.segmented_control(
        "Score", METRICS, required=True, key=address.key(score), format_func=SCORES.__getitem__,
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
            models=lambda asked: asked.probed,
        ),
        POLAR: Experiment(
            POLAR_STUDY,
            shared=("models", "untrained", "rank", "seeds", "epochs", *TEXT),
            fixed=("sinks",),
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
        ),
        BEHAVIOUR: Experiment(
            BEHAVIOUR_STUDY,
            shared=TEXT,
            fixed=("probes", "targets", "seeds", "sinks"),
        ),
    },
)
