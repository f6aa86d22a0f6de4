"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from core.errors import counted
from core.models import costs
from core.models.loading.reading import LOGITS
from core.runs.price import Price
from core.studies.probes.behaviour.spec import BehaviourSpec
from core.studies.probes.edges.coding import fitted
from core.studies.probes.prices import DRAWN, bytes_to_train, passes_per_pair
from core.studies.probes.trees.planning import of_layer

LENGTHS = 2.0  # different lengths of the sentences of one kind, each a batch


def behaviour_price(spec: BehaviourSpec) -> Price:
    """The price of minimal pairs, a pass for each token of each sentence, and of probes beside."""
    refs = spec.refs
    sizes = costs.sizes_of(refs)
    sentences = 2 * spec.pairs * len(spec.kinds)
    tasks = [costs.STARTING]
    tasks += [
        costs.passes(size, sentences, passes_per_pair(size), LENGTHS, len(spec.kinds))
        for size in sizes.values()
    ]
    memory = costs.resident(sizes, head=True)
    if any(costs.is_by_layer(size) for size in sizes.values()):
        memory += LOGITS * costs.SINGLE
    if spec.probes:
        words = costs.WORDS * costs.sentences_of(spec)
        memory = max(memory, bytes_to_train(sizes, (), words))
        tasks.append(costs.PARSING * costs.sentences_of(spec))
        for ref, size in sizes.items():
            penalty = spec.as_edges(ref).penalty if spec.targets else 0.0
            tasks += [
                fitted(target, size.d_model, size.layers + 1, words, penalty)
                for target in spec.targets
            ]
            probes = spec.as_probes(ref)
            bank = of_layer(probes, "distance", probes.rank, size, words)
            drawn = DRAWN * 0.1 * costs.sentences_of(spec) * spec.draws
            tasks.append(costs.vectors(size, costs.sentences_of(spec)))
            tasks.append((size.layers + 1) * spec.seeds * (bank + drawn))
    return costs.price_of(sizes, tasks, memory, work=counted(len(sizes), "model"))
