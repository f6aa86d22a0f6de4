"""The study's price: what its plan would take, from the models' sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.models import costs
from core.runs.price import Price
from core.runs.process.cores import TASKS_AT_ONCE
from core.studies.alignment.seeds.price import fitting
from core.text.labelled import count_labelled

if TYPE_CHECKING:
    from core.studies.alignment.stitching.spec import StitchSpec

# Sentences that are stitched at once, their length over the mean's as they are padded, rows of them
# that are mapped at once, and copies of these that a network makes
STITCHED, LONGEST, MAPPED_ROWS, BY_NETWORK = 64, 2.0, 512, 6


def stitching_price(spec: StitchSpec) -> Price:
    """Price stitching: every map at every layer, and the layers above it for every labelled
    sentence."""
    sizes, sentences = costs.sizes_of(spec.models), costs.sentences_of(spec)
    rows, labelled = sentences * costs.SUBWORDS, count_labelled(spec.labelled)
    tasks, memory = [costs.STARTING], 0.0
    for upper in sizes.values():
        for lower in sizes.values():
            width, states = max(upper.d_model, lower.d_model), upper.layers + 1
            work = sum(
                costs.opening(size) + costs.passing(size, sentences + labelled)
                for size in (upper, lower)
            )
            work += costs.passing(upper, labelled, len(spec.methods) * states / 2)
            tasks.append(work + sum(fitting(spec.methods, width, rows, states)))
            fitted = 3 * 2 * rows  # rows of both models, and copies of those of training
            padded = 2 * STITCHED * LONGEST * costs.SUBWORDS
            stitched = 2 * 2 * rows + padded + BY_NETWORK * MAPPED_ROWS
            held = states * width * costs.DOUBLE * max(fitted, stitched)
            held += costs.SINGLE * (upper.parameters + lower.parameters)
            memory = max(memory, TASKS_AT_ONCE * held)
    return costs.price_of(sizes, tasks, memory, work=costs.counted(len(sizes) ** 2, "ordered pair"))
