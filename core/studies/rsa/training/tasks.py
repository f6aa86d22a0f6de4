"""The study's own task: chance level of the best layer of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from core.maths.similarity.nulls import pair_sentences
from core.maths.similarity.registry import Options, get_measure
from core.maths.similarity.scoring import null_draws
from core.maths.statistics import interval
from core.studies.rsa.layers.tasks import Settings, compare_cost
from core.studies.task_kit import Cost, Size, Value, as_identified, pure
from core.vectors.pairs import Items, extract_pair


def _cost(
    sizes: Mapping[str, Size], base: str, other: str, items: Items, measure: str, **_: Any
) -> Cost:
    scored = compare_cost(sizes, base, other, items, Settings(measure))
    return replace(scored, seconds=scored.seconds / 2)  # no band


@pure("rsa.training.null", version=2, guard=as_identified, cost=_cost)
def shuffle_layers(
    base: str, other: str, base_identity: str, other_identity: str, items: Items, measure: str,
    seed: int, sinks: str = "",
) -> Value:  # fmt: skip
    """Compute the chance level of the most similar layer, `null_most`: the 97.5 % point of the
    maximum over layers, which are shuffled alike, so that what they have in common stays. Raises
    ModelError if a model cannot be loaded, ShapeError if the measure refuses the shapes."""
    paired = extract_pair(base, other, items, sinks=sinks)
    chosen = get_measure(measure)
    _, count, width = paired.base.shape
    draws = null_draws(chosen, count, width, Options())
    kept, orders = pair_sentences(paired.sentence, draws, np.random.default_rng(seed))
    nulls = [chosen.null_of(x[kept], y[kept], orders) for x, y in paired.layers()]
    return {"null_most": float(interval(np.nanmax(np.array(nulls), axis=0))[1])}
