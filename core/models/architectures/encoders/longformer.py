"""Longformer: RoBERTa's names; the projections for global attention are not compared."""

from dataclasses import replace

from core.models.architectures.encoders.bert import ROBERTA

LONGFORMER = replace(
    ROBERTA,
    types=("longformer",),
    inseparable="its layers need the window's mask that the model makes for all of them",
    caveats=("Longformer is run with its sliding window only: no token attends globally.",),
)

FAMILY = (LONGFORMER,)
