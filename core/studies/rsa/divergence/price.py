"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.models.loading.language_models import predicts
from core.models.patterns import matching_refs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.rsa.prices import scoring

if TYPE_CHECKING:
    from core.studies.rsa.divergence.spec import DivergenceSpec

# tokens of a vocabulary where it is not known; processor seconds per prediction and token of it;
# numbers of a block of logits and what is computed from it
VOCABULARY, PREDICTED, LOGITS = 30_000, 1.5e-8, 8 * 2**22


def divergence_price(spec: DivergenceSpec) -> Price:
    """Estimate the price of comparing predictions: a pass a word, and the vocabulary's matrix."""
    refs = tuple(ref for text in (*spec.compare, *spec.others) for ref in matching_refs(text))
    sizes, sentences = costs.sizes_of((spec.base, *refs)), costs.sentences_of(spec)
    tokens = costs.SUBWORDS * sentences
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    items = min(spec.words, costs.WORDS * sentences)
    for ref in refs:
        for size in (sizes[name] for name in (spec.base, ref) if name in sizes):
            predicted = VOCABULARY * (size.d_model * costs.PASSING * 2 + PREDICTED)
            causal = predicts(size.architecture) == "causal"
            passes = 1.0 if causal or spec.masking != "masked" else costs.WORDS
            tasks.append(
                costs.passes(size, sentences, passes)
                + tokens * predicted
                + size.layers * (scoring("rsa", "cosine", "pearson", items, size.d_model,
                                         sentences) + 1e-8 * items**2) / 2
            )  # fmt: skip
    memory = TASKS_AT_ONCE * (2 * costs.resident(sizes, head=True) + LOGITS * costs.SINGLE)
    memory = max(memory, costs.resident(sizes, sentences)) + 4 * 512 * items * costs.DOUBLE
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))
