"""The experiments of the weight clustering page: intruder dimensions, lineage, task arithmetic."""

from __future__ import annotations

from core.options import refs_of
from core.studies.weights.arithmetic.study import STUDY as ARITHMETIC_STUDY
from core.studies.weights.clusters.spec import WeightsSpec
from core.studies.weights.intruders.study import STUDY
from core.studies.weights.lineage.study import STUDY as LINEAGE_STUDY
from ui.study.experiment import Experiment, with_added

INTRUDERS, LINEAGE = STUDY.title, LINEAGE_STUDY.title
ARITHMETIC = ARITHMETIC_STUDY.title


EXPERIMENTS = with_added(
    "weights",
    WeightsSpec,
    {
        INTRUDERS: Experiment(STUDY, shared=("base", "families", "seed")),
        # the names as they stand: a page does not ask the Hub for what a pattern matches
        LINEAGE: Experiment(LINEAGE_STUDY, shared=("families", "seed"), models=refs_of),
        ARITHMETIC: Experiment(ARITHMETIC_STUDY, shared=("base", "seed")),
    },
)
