"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.models.loading.task_models import kind_of
from core.models.sizes import Size
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.rsa.layers.runs import find_compared
from core.studies.rsa.swap.interventions import BASE_WAYS, DONOR_WAYS, MOST_KEPT
from core.text.labelled import expected_labelled

if TYPE_CHECKING:
    from core.studies.rsa.swap.spec import SwapSpec

SWAPPED = 0.6  # of a pass that a layer swap runs
TESTED = 30_000.0  # of the batch that the self-tests run, times the width: see `vectors.forward`


def swap_price(spec: SwapSpec) -> Price:
    """Estimate the price of layer swaps: every swap runs the layers above it again."""
    compared = find_compared(spec.base, spec.compare).refs
    sizes = costs.sizes_of((spec.base, *compared))
    labelled = len(expected_labelled(spec.labelled))
    scored = {ref: _scored(spec, size, labelled) for ref, size in sizes.items()}
    # Of a fine-tune's two tasks, the kinds of swap and the donors.
    shared_out = (
        (len(BASE_WAYS) + len(DONOR_WAYS) * spec.random, 1 + spec.random),
        (len(DONOR_WAYS) * spec.noises, spec.noises),
    )
    tasks = [costs.STARTING]
    for ref in compared:
        if ref in sizes:
            size, sentences = sizes[ref], scored[ref]
            tested = (
                min(sentences, TESTED / size.d_model) * 2 * (size.layers + 1)
            )  # passes of single sentences
            for ways, donors in shared_out:
                passes = SWAPPED * ways * (size.layers + 1) + 2 * donors
                tasks.append(
                    costs.opening(size) * (2 + donors)
                    + costs.passing(size, sentences * passes + tested)
                )
            tasks[-1] += spec.noises * costs.turning(size)
    at_once = min(TASKS_AT_ONCE, len(tasks) - 1)
    largest = max((size.parameters for size in sizes.values()), default=0)
    states = max(
        (min(float(MOST_KEPT), costs.stored(sizes[ref], scored[ref]) * 3) for ref in sizes),
        default=0.0,
    )
    memory = at_once * (4 * largest * costs.SINGLE + states)
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(compared), "fine-tune"))


def _scored(spec: SwapSpec, size: Size, labelled: int) -> float:
    """Count the sentences that a fine-tune is scored on: all labelled ones, or those of the text
    whose words its head labels; the more where its head is not known."""
    if kind_of(size.architecture) == "sentence":
        return float(labelled)
    words = costs.sentences_of(spec)
    return words if size.architecture else max(words, float(labelled))
