"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

from core.maths.maps.registry import METHODS
from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.alignment.prices import linear_maps

if TYPE_CHECKING:
    from extras.alignment.rotation.spec import RotationSpec

STACKS, WIDE = 3.0, 2.0  # copies of all rows of both directions: in single precision, and in double
PLANTED = 2  # maps fitted to a planted rotation, and copies of the rows that it takes


def rotation_price(spec: RotationSpec) -> Price:
    """Price the test of rotations: four linear maps of every pair, and two of each planted
    rotation."""
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    rows = sentences * (costs.WORDS if spec.items == "words" else 1)
    pairs = list(combinations(sizes.values(), 2))
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    memory = 0.0
    for pair in pairs:
        width, states = max(size.d_model for size in pair), min(size.layers for size in pair) + 1
        tasks.append((4 + PLANTED * spec.draws) * linear_maps(2 * states, width, rows))
        memory = max(memory, PLANTED * _stacked(2 * states * rows * width, ("ridge",)))
    memory *= min(TASKS_AT_ONCE, len(pairs))
    work = costs.counted(len(pairs), "pair")
    return costs.price_of(sizes, tasks, memory + costs.resident(sizes), work=work)


def _stacked(numbers: float, methods: Iterable[str]) -> float:
    """Bytes of memory of a task with so many numbers in both directions."""
    quick = any(METHODS[name].kind in ("control", "linear") for name in methods)
    return numbers * (STACKS * 2 * costs.SINGLE + (WIDE * costs.DOUBLE if quick else costs.DOUBLE))
