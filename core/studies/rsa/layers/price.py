"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.models.sizes import Size
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.rsa.layers.random_changes import MOST_SENTENCES, TURNS
from core.studies.rsa.layers.runs import find_compared, find_references
from core.studies.rsa.prices import (
    COPIES,
    PAIRS,
    PLAIN,
    comparing,
    holding,
    most_numbers,
    scoring,
    turning_a_change,
)

if TYPE_CHECKING:
    from core.studies.rsa.layers.spec import RsaSpec

ROTATED = 0.2  # of a random change, whatever the width


def rsa_price(spec: RsaSpec) -> Price:
    """Estimate the price of the main study."""
    compared, references = find_compared(spec.base, spec.compare).refs, find_references(spec)
    sizes = costs.sizes_of((spec.base, *compared, *references))
    sentences = costs.sentences_of(spec)
    items = min(spec.words, costs.WORDS * sentences) if spec.items == "words" else sentences
    texts = 2 if spec.second_corpus else 1
    tasks = [costs.STARTING]
    for ref in (*compared, *references):
        if ref in sizes and spec.base in sizes:
            base, size = sizes[spec.base], sizes[ref]
            width, states = max(base.d_model, size.d_model), base.layers + 1
            work = scoring(spec.measure, spec.kernel, spec.comparison, items, width, sentences)
            if spec.drop_influential:
                work += PAIRS * items**2 * (width + 50)
            part = texts + spec.functions if ref in compared else 1
            tasks += [work * states] * part
            if spec.functions and ref in compared:
                tasks.append(costs.vectors(size, sentences) + costs.states(base, sentences))
                tasks.append(_random_changes(spec, base, size, items, sentences))
            if spec.grid and ref in compared:
                tasks.append(
                    (comparing(spec.measure, items, width) + PLAIN / 5) * states * (size.layers + 1)
                )
    tasks += [costs.vectors(size, sentences * texts) for size in sizes.values()]
    at_once = min(TASKS_AT_ONCE, len(compared) + len(references))
    held = holding(spec.measure, spec.kernel, spec.comparison, items, sentences)
    memory = at_once * (held + COPIES * most_numbers(sizes, items) * costs.SINGLE) + costs.resident(
        sizes, sentences
    ) * (1 + spec.functions)
    kept = sum(costs.stored(size, sentences * texts) for size in sizes.values())
    if spec.functions:
        tuned = [sizes[ref] for ref in compared if ref in sizes]
        turned = TURNS * min(sentences, MOST_SENTENCES)
        kept += sum(costs.stored(size, sentences + turned) for size in tuned)
    return costs.price_of(sizes, tasks, memory, store=kept, work=costs.counted(len(sizes), "model"))


def _random_changes(spec: RsaSpec, base: Size, size: Size, items: float, sentences: float) -> float:
    """Estimate the processor seconds of rotating a model's change and comparing the outputs."""
    few = min(sentences, MOST_SENTENCES)
    width = base.d_model
    scored = scoring(
        spec.measure, spec.kernel, spec.comparison, items * few / sentences, width, few
    )
    read = 2 * costs.vectors(size, few) + ROTATED + turning_a_change(size, 1)
    return TURNS * read + (TURNS + 1) * (base.layers + 1) * scored
