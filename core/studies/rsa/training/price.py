"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.rsa.prices import COPIES, holding, most_numbers, scoring

if TYPE_CHECKING:
    from core.studies.rsa.training.spec import TrainingSpec


def training_price(spec: TrainingSpec) -> Price:
    """Estimate the price of comparing every checkpoint with the final model."""
    refs = (*spec.checkpoints, *spec.others)
    sizes, sentences = costs.sizes_of((spec.end, *refs)), costs.sentences_of(spec)
    items = min(spec.words, costs.WORDS * sentences)
    tasks = [costs.STARTING, *(costs.vectors(size, sentences) for size in sizes.values())]
    for ref in refs:
        if ref in sizes and spec.end in sizes:
            end = sizes[spec.end]
            work = scoring(spec.measure, "cosine", "pearson", items, end.d_model, sentences)
            # chance level of the best layer: about half of a score
            tasks += [work * (end.layers + 1) * (1.5 if ref in spec.checkpoints else 1.0)]
    held = holding(spec.measure, "cosine", "pearson", items, sentences)
    at_once = min(TASKS_AT_ONCE, len(refs))
    memory = at_once * (held + COPIES * most_numbers(sizes, items) * costs.SINGLE) + costs.resident(
        sizes, sentences
    )
    kept = sum(costs.stored(size, sentences) for size in sizes.values())
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))
