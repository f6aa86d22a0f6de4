"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.maths.similarity.costs import PLAIN, comparing
from core.maths.similarity.registry import MEASURES
from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE

if TYPE_CHECKING:
    from core.studies.rsa.truth.spec import TruthSpec

ROUNDINGS = 4  # of a frozen fine-tune


def truth_price(spec: TruthSpec) -> Price:
    """Estimate the price of the benchmark: models are rounded or planted, and every measure
    compares each."""
    refs = (*spec.compare, *spec.planted)
    sizes, sentences = costs.sizes_of((spec.base, *refs)), costs.sentences_of(spec)
    items = min(spec.words, costs.WORDS * sentences)
    tasks = [costs.STARTING]
    for kind, group in (("frozen", spec.compare), ("planted", spec.planted)):
        for number, ref in enumerate(ref for ref in group if ref in sizes):
            size = sizes[ref]
            models = ROUNDINGS if kind == "frozen" else spec.plants
            readings = 1 if kind == "frozen" else 2
            passes = 1 + models * (1 if kind == "frozen" else 4)
            costs_of = {
                measure: comparing(measure, items, size.d_model) + PLAIN / 5
                for measure in spec.measures
            }
            shared = [costs_of.pop(name) for name in spec.measures if MEASURES[name].canonical]
            once = sum(costs_of.values()) + max(shared, default=0.0)  # of one decomposition
            rounding = models * 4e-8 * size.parameters
            work = 2 * costs.opening(size) + costs.passing(size, sentences, passes) + rounding
            work += once * (size.layers + 1) * models * readings
            tasks += [work] * (
                2 if number else 1
            )  # matched in size too, but for the smallest change
    largest = max((size.parameters for size in sizes.values()), default=0) * costs.SINGLE
    most = max(((size.layers + 1) * size.d_model * items for size in sizes.values()), default=0.0)
    memory = TASKS_AT_ONCE * (3 * largest + 4 * most * costs.DOUBLE)
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(refs), "fine-tune"))
