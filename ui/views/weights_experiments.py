"""The experiments of the weight clustering page: intruder dimensions, what they do, lineage, task
arithmetic."""

from __future__ import annotations

from core.catalogue import STUDIES
from core.options import refs_of
from ui.study.experiment import Experiment, experiments_of

EXPERIMENTS = experiments_of(
    "weights",
    Experiment(STUDIES["weights intruders"], shared=("base", "families", "seed")),
    Experiment(STUDIES["weights scaling"], shared=("base", "families", "seed")),
    # the names as they stand: a page does not ask the Hub for what a pattern matches
    Experiment(STUDIES["weights lineage"], shared=("families", "seed"), models=refs_of),
    Experiment(STUDIES["weights arithmetic"], shared=("base", "seed")),
)
