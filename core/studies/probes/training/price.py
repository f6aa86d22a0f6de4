"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runs.price import Price
from core.studies.probes.trees.planning import price_of_banks

if TYPE_CHECKING:
    from core.studies.probes.training.spec import ProbeTrainingSpec

EARLY = 1.5  # of probes on the steps of a run, over those on trained models


def training_price(spec: ProbeTrainingSpec) -> Price:
    """The price of probes on the steps of a run and its final model."""
    refs = (*spec.checkpoints, spec.end)
    return price_of_banks(spec.as_probes, refs, controlled=refs, longer=EARLY)
