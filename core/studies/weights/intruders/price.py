"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.maths.spectra.directions import SMALL
from core.models import costs
from core.models.sizes import Size
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.weights.clusters.members import bases_by_member
from core.studies.weights.intruders.scales import SCALES
from core.studies.weights.intruders.tasks import LARGE_DRAWS, PARTS
from core.studies.weights.prices import (
    STARTING,
    bytes_of_largest,
    cubed_side,
    matrices_of,
    sizes_with_adapters,
)

if TYPE_CHECKING:
    from core.studies.weights.intruders.spec import IntruderSpec

DRAWN = 2e-8  # per number of a random update of a small matrix
LED = 6e-10  # per cubed side for its leading directions
NOISY = 1.1e-5  # per side of a large matrix for a random update and its leading directions
TURNED = 3e-10  # per cubed side for the singular values of a matrix and its update
TURN = 1.6e-10  # per cubed side for a turned update and its leading directions
BASE = 5e-10  # per cubed side for the decomposition of the base
SCORED, MASKED_PASSES = 300, 420  # sentences of a scored task, and those with masked subwords
COPIES = 4  # of a model whose directions are scaled: with its head, the base's, originals, merged


def intruders_price(spec: IntruderSpec) -> Price:
    """Price the intruder experiment: every random update of every matrix is decomposed."""
    bases = bases_by_member(spec.base, spec.models)
    # an adapter's product is decomposed as any update is
    sizes, _ = sizes_with_adapters(spec.base, bases)
    here = [sizes[ref] for ref in bases if ref in sizes]
    tasks = [STARTING]
    for size in here:
        matrices = matrices_of(size, spec.families)
        once = sum(number * _changed(shape, spec.draws) for shape, number in matrices)
        turned = sum(number * _turned(shape, spec.draws) for shape, number in matrices)
        tasks += [costs.OPENING + once / PARTS] * PARTS + [costs.OPENING + turned]
    memory = bytes_of_largest(here * PARTS) + sum(
        6 * size.layers * spec.draws * spec.leading * costs.SINGLE for size in here
    )
    if not spec.scaling:
        return costs.price_of(
            sizes, tasks, memory, libraries=costs.NUMPY, work=costs.counted(len(here), "fine-tune")
        )
    tasks += [costs.STARTING, *(_scaled(size, spec.removals) for size in here)]
    largest = max((size.parameters for size in here), default=0)
    memory += COPIES * min(TASKS_AT_ONCE, len(here)) * largest * costs.SINGLE
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(here), "fine-tune"))


def _changed(shape: tuple[int, int], draws: int) -> float:
    """Processor seconds for one matrix and its random updates."""
    if min(shape) > SMALL:
        once = NOISY * min(shape)
    else:
        once = DRAWN * shape[0] * shape[1] + LED * cubed_side(shape)
    return draws * once + BASE * cubed_side(shape)


def _turned(shape: tuple[int, int], draws: int) -> float:
    """Processor seconds for one matrix and its turned updates, which are decomposed whole."""
    count = draws if min(shape) <= SMALL else min(draws, LARGE_DRAWS)
    return (TURNED + TURN * count) * cubed_side(shape) + DRAWN * count * shape[0] * shape[1]


def _scaled(size: Size, removals: int) -> float:
    """Processor seconds to score a model at every scale of its directions and of the controls."""
    runs = 2 + (len(SCALES) - 1) * (3 + removals)
    decomposed = BASE * 2 * size.layers * 6 * float(size.d_model) ** 3
    return (
        2 * costs.opening(size) + decomposed + costs.passing(size, runs * (SCORED + MASKED_PASSES))
    )
