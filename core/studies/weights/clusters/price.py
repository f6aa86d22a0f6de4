"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.models import costs
from core.models.sizes import Size
from core.runs.price import Price
from core.studies.weights.activations import SENTENCES
from core.studies.weights.clusters.members import EVERY, bases_by_member
from core.studies.weights.prices import (
    MAPS,
    SKETCHED,
    STARTING,
    bytes_of_largest,
    cubed_side,
    matrices_of,
    sizes_with_adapters,
)

if TYPE_CHECKING:
    from core.studies.weights.clusters.spec import WeightsSpec

# processor seconds per cubed side of a matrix, and per permutation and pair of models
FACTORED, PERMUTED = 3.6e-10, 6e-8
KEPT = 2**14 + 4_000  # numbers stored per matrix


def weights_price(spec: WeightsSpec) -> Price:
    """Price the main study: every matrix of every fine-tune is decomposed once."""
    named = [pattern for pattern in spec.models if not (spec.tree and pattern == EVERY)]
    bases = bases_by_member(spec.base, named, spec.own_bases)
    sizes, adapters = sizes_with_adapters(spec.base, bases)
    models = [sizes[ref] for ref in bases if ref in sizes and ref not in adapters]
    models += [sizes[spec.base]] * spec.tree if spec.base in sizes else []
    here = [*models, *(sizes[ref] for ref in adapters)]
    pairs = len(here) ** 2 / 2
    tasks = [STARTING + MAPS.get(spec.map, 0.0) + PERMUTED * spec.permutations * pairs]
    tasks += [costs.OPENING + _decomposed(sizes[ref], spec.families, True) for ref in adapters]
    for size in models:
        once = costs.OPENING + _decomposed(size, spec.families)
        tasks += [once] * (2 if spec.of != "delta" else 1)
    numbers = sum(KEPT * 6 * size.layers for size in here)
    memory = bytes_of_largest(here) + numbers * costs.SINGLE
    if spec.reads_states:
        run = [*models, *([sizes[spec.base]] if spec.base in sizes else [])]
        tasks += [costs.STARTING, *(costs.vectors(size, SENTENCES) for size in run)]
        memory = max(memory, costs.resident(sizes, SENTENCES))
    listed = (
        sizes[spec.base].parameters * costs.SINGLE / 1e9 * spec.tree if spec.base in sizes else 0.0
    )
    return costs.price_of(
        sizes,
        tasks,
        memory,
        libraries=costs.TORCH if spec.reads_states else costs.NUMPY,
        store=numbers * costs.SINGLE,
        more_download=listed,
        work=costs.counted(len(here), "fine-tune"),
    )


def _decomposed(size: Size, families: Sequence[str], factors: bool = False) -> float:
    """Processor seconds to decompose the matrices of an update; the product of an adapter's
    factors is only sketched where that takes less."""
    seconds = 0.0
    for (rows, columns), number in matrices_of(size, families):
        once = FACTORED * cubed_side((rows, columns))
        seconds += number * (min(once, SKETCHED * rows * columns) if factors else once)
    return seconds
