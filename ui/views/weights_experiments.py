"""The experiments of the weight clustering page: intruder dimensions, lineage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from core.weights.intruders.charts import intruder_panels
from core.weights.intruders.study import STUDY
from core.weights.lineage.study import STUDY as LINEAGE_STUDY
from ui.study.experiment import Experiment, Shown

if TYPE_CHECKING:
    from core.results.export import Result
    from ui.frame.links import Address

INTRUDERS, LINEAGE = STUDY.title, LINEAGE_STUDY.title


def intruders_shown(address: Address, result: Result) -> Shown:
    """Show a panel for each family, all on one scale."""
    return Shown(partial(intruder_panels, result), result.tables)


EXPERIMENTS = {
    INTRUDERS: Experiment(
        STUDY,
        own={
            "intruder_models": "models",
            "leading": "leading",
            "cosine": "threshold",
            "draws": "draws",
        },
        shared=("base", "families", "seed"),
        shown=intruders_shown,
    ),
    LINEAGE: Experiment(
        LINEAGE_STUDY,
        own={"lineage_models": "models", "lineage_pair": "pair"},
        shared=("families", "seed"),
    ),
}
