"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.alignment.prices import tasks_of
from core.studies.alignment.seeds.price import fitting

if TYPE_CHECKING:
    from extras.alignment.check.spec import CheckSpec

COPIES_READ = 2  # of the vectors of all layers, in single precision
BLOCKS = 4  # numbers of blocks of a known bijection


def check_price(spec: CheckSpec) -> Price:
    """Price the bijection check: every map undoes every form of bijection with every number of
    blocks."""
    sizes, sentences = costs.sizes_of((spec.model,)), costs.sentences_of(spec)
    rows = sentences * (costs.WORDS if spec.items == "words" else 1)
    tasks, memory, truths = [costs.STARTING], 0.0, BLOCKS * len(spec.truths)
    for size in sizes.values():
        tasks += [
            costs.vectors(size, sentences),
            *fitting(spec.methods, size.d_model, rows, truths),
        ]
        held = (
            truths * rows * size.d_model * 3
            + COPIES_READ * (size.layers + 1) * rows * size.d_model / 2
        )
        memory = min(TASKS_AT_ONCE, tasks_of(spec.methods)) * held * costs.DOUBLE
    return costs.price_of(
        sizes,
        tasks,
        memory + costs.resident(sizes),
        work=costs.counted(truths * len(spec.methods), "map"),
    )
