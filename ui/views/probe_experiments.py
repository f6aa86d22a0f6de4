"""Experiments of the probe page: tags and labels, labelled trees, training, minimal pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core import options
from core.catalogue import STUDIES
from core.options import Spec, options_of
from core.results.metrics import titles_of
from core.studies.probes.training.report import METRICS
from ui.study.controls import draw_choice
from ui.study.experiment import Experiment, experiments_of

if TYPE_CHECKING:
    from core.results.export import Result
    from ui.frame.links import Address

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
    return (draw_choice(address, TRAINING.key("score")),)


POLAR = Experiment(
    STUDIES["probe polar"],
    shared=("models", "untrained", "rank", "seeds", "epochs", *TEXT),
    fixed=("sinks",),
    models=lambda asked: asked.probed,
)
TRAINING = Experiment(
    STUDIES["probe training"],
    shared=("rank", "seeds", "epochs", "sinks", *TEXT),
    display=options_of(Display),
    choose=choose_score,
    models=lambda asked: (asked.end, *asked.checkpoints),
)
EXPERIMENTS = experiments_of(
    "probe",
    Experiment(
        STUDIES["probe edges"],
        shared=("models", "untrained", "sinks", *TEXT),
        models=lambda asked: asked.probed,
    ),
    POLAR,
    TRAINING,
    Experiment(STUDIES["probe removal"], shared=("models", "epochs", *TEXT)),
    Experiment(
        STUDIES["probe behaviour"],
        shared=TEXT,
        fixed=("probes", "targets", "seeds", "sinks"),
    ),
)
