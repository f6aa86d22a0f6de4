"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.models.loading.language_models import predicts
from core.runs.price import Price
from core.studies.probes.prices import PARSING, bytes_to_train, passes_per_pair
from core.studies.probes.trees.planning import of_layer

if TYPE_CHECKING:
    from extras.probes.removal.spec import RemovalSpec


def removal_price(spec: RemovalSpec) -> Price:
    """The price of erasing subspaces: a probe for each layer, and passes under each condition."""
    probes = spec.as_probes
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    words, conditions = costs.WORDS * sentences, 2 + 2 * spec.randoms
    tasks = [costs.STARTING, PARSING * sentences]
    for size in sizes.values():
        states = len(spec.layers) or size.layers + 1
        bank = of_layer(probes, "distance", spec.rank, size, words)
        scored = costs.passing(size, spec.scored, 1.0)
        if predicts(size.architecture) or not size.architecture:
            scored *= costs.SUBWORDS
            scored += costs.passing(size, 2 * spec.pairs * len(spec.kinds), passes_per_pair(size))
        at_layer = [2 * costs.vectors(size, sentences), bank, conditions * scored]
        tasks += [*at_layer, 2 * costs.opening(size)] * states
    memory = max(
        bytes_to_train(sizes, (0,), words), costs.resident(sizes, whole=True)
    )  # a layer at a time
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(sizes), "model"))
