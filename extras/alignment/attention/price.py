"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.alignment.prices import PRODUCTS
from core.studies.alignment.seeds.price import fitting

if TYPE_CHECKING:
    from extras.alignment.attention.spec import AttentionSpec


def attention_price(spec: AttentionSpec) -> Price:
    """Price the attention study: matched heads and mapped attention outputs."""
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    rows, entries = sentences * costs.SUBWORDS, sentences * costs.SUBWORDS**2 * 1.3
    tasks, memory = [costs.STARTING], 0.0
    pairs = [(source, target) for source in sizes for target in sizes if source != target]
    for pair in pairs:
        width, layers = (
            max(sizes[ref].d_model for ref in pair),
            max(sizes[ref].layers for ref in pair),
        )
        heads = layers * max(1.0, width / 64)
        work = sum(costs.opening(sizes[ref]) + costs.passing(sizes[ref], sentences) for ref in pair)
        work += PRODUCTS * 2 * entries * heads**2 + 2e-8 * entries * heads
        tasks.append(work + sum(fitting(spec.methods, width, rows, layers)))
        held = 2 * entries * heads * 3 + 2 * layers * rows * width * 2
        memory = max(memory, min(TASKS_AT_ONCE, len(pairs)) * held * costs.DOUBLE)
    return costs.price_of(
        sizes,
        tasks,
        memory + costs.resident(sizes, whole=True),
        work=costs.counted(len(pairs), "ordered pair"),
    )
