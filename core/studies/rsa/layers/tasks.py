"""The study's tasks: two models on the same items, layer by layer or every layer against every
layer.

A task's arguments hold everything that its numbers depend on: references for loading, fingerprints
for the key, the words themselves. Vectors come from `core.vectors.activations`, which stores them
sentence by sentence. A comparison's value holds the fields of `Score`, each (layer,); `items`,
`d_model`, `sentences`, `notices` and, where sinks were looked for, `sinks`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.maths.similarity.costs import PAIRS, PLAIN, comparing, holding, scoring
from core.maths.similarity.influence import without_influential
from core.maths.similarity.preparing import prepare_pair
from core.maths.similarity.registry import Options, compare, get_measure
from core.maths.similarity.scoring import score
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, tick
from core.vectors.pairs import READING_SHARE, Items, Paired, extract_pair

COPIES = 4  # of the vectors of two models


@dataclass(frozen=True)
class Settings:
    """How two layers are compared; plain values.

    Attributes:
        measure: One of `MEASURES`.
        kernel: For RSA.
        comparison: For RSA.
        standardise: Whether dimensions are standardised.
        drop_rogue: Rogue dimensions dropped.
    """

    measure: str
    kernel: str = "cosine"
    comparison: str = "pearson"
    standardise: bool = False
    drop_rogue: int = 0

    @property
    def options(self) -> Options:
        """What is chosen within the measure."""
        return Options(self.kernel, self.comparison)

    def seconds(self, items: Items, width: int) -> float:
        """Estimate the processor seconds of one layer, with its band and chance level."""
        chosen = self.measure, self.kernel, self.comparison
        return scoring(*chosen, items.count, width, len(items.sentences))

    def prepared(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two layers (item, d_model), as the measure takes them."""
        together = get_measure(self.measure).coordinates
        return prepare_pair(x, y, self.standardise, self.drop_rogue, together=together)

    def compared_items(self, x: np.ndarray, y: np.ndarray) -> np.ndarray | slice:
        """The items of two prepared layers that are compared, in order: all, without a copy."""
        return slice(None)


@dataclass(frozen=True)
class Trimmed(Settings):
    """Settings with which a layer loses its most influential items; kept apart, so that other
    studies keep their keys.

    Attributes:
        drop_influential: Share of the items that are dropped, in per cent.
    """

    drop_influential: float = 1.0

    def seconds(self, items: Items, width: int) -> float:
        """Estimate the processor seconds of one layer, whose items are compared twice."""
        return super().seconds(items, width) + PAIRS * items.count**2 * (width + 50)

    def compared_items(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The items of two prepared layers without those that change RSA most, in order."""
        return without_influential(x, y, self.drop_influential, self.kernel, self.comparison)


def compare_cost(
    sizes: Mapping[str, Size], base: str, other: str, items: Items, how: Settings, **_: Any
) -> Cost:
    """Estimate what it takes to score every layer of two models."""
    width, states = costs.shape_of(sizes, base, other)
    most = max((size.layers + 1) * size.d_model for size in (sizes[base], sizes[other]))
    held = holding(how.measure, how.kernel, how.comparison, items.count, len(items.sentences))
    return Cost(
        states * how.seconds(items, width),
        held + COPIES * items.count * most * costs.SINGLE,
        shared=costs.reading(sizes, (base, other), items.sentences),
    )


def _functions_cost(
    sizes: Mapping[str, Size], base: str, other: str, items: Items, how: Settings, **_: Any
) -> Cost:
    scored, sentences = compare_cost(sizes, base, other, items, how), len(items.sentences)
    read = costs.vectors(sizes[other], sentences) + costs.states(sizes[base], sentences)
    return replace(
        scored,
        seconds=scored.seconds + read,
        memory=scored.memory + costs.resident({base: sizes[base]}, sentences),
        store=costs.stored(sizes[other], sentences),
    )


def _grid_cost(
    sizes: Mapping[str, Size], base: str, other: str, items: Items, how: Settings, **_: Any
) -> Cost:
    width = max(sizes[base].d_model, sizes[other].d_model)
    once = comparing(how.measure, items.count, width) + PLAIN / 5
    scored = compare_cost(sizes, base, other, items, how)
    return replace(scored, seconds=once * (sizes[base].layers + 1) * (sizes[other].layers + 1))


@pure("rsa.compare", version=4, guard=as_identified, cost=compare_cost)
def compare_models(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    items: Items,
    how: Settings,
    share: float,
    seed: int,
    sinks: str = "",
) -> Value:
    """Score each layer of two models (fields of `Score`, each (layer,)). With a `share` below 1,
    the other's weights are that share of the way from the base's. Raises ModelError if a model
    cannot be loaded, ShapeError if too few items are left or the measure refuses them."""
    return _by_layer(extract_pair(base, other, items, share=share, sinks=sinks), how, seed)


@pure("rsa.functions", version=2, guard=as_identified, cost=_functions_cost)
def compare_functions(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    items: Items,
    how: Settings,
    share: float,
    seed: int,
    sinks: str = "",
) -> Value:
    """Score the outputs of two models' layers on the base's own input, so that nothing is inherited
    from the layers below; a final norm is part of its layer. Errors as for `compare_models`."""
    paired = extract_pair(base, other, items, share=share, functions=True, sinks=sinks)
    return _by_layer(paired, how, seed)


@pure("rsa.grid", version=3, guard=as_identified, cost=_grid_cost)
def compare_layers(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    items: Items,
    how: Settings,
    share: float,
    sinks: str = "",
) -> Value:
    """Compute the similarity of every layer of one model to every layer of the other: `similarity`
    (layer of the base, layer of the other), `items`, `notices` and `sinks`. Errors as for
    `compare_models`."""
    paired = extract_pair(base, other, items, False, share, sinks=sinks)
    similarity = np.zeros((len(paired.base), len(paired.compared)))
    for row, first in enumerate(paired.base):
        tick(
            READING_SHARE + (1 - READING_SHARE) * row / len(similarity), f"layer {row} against all"
        )
        for column, second in enumerate(paired.compared):
            x, y = how.prepared(first, second)
            kept = how.compared_items(x, y)
            similarity[row, column] = compare(x[kept], y[kept], how.measure, how.options)
    return {
        "similarity": similarity,
        "items": int(paired.base.shape[1]),
        **paired.remarks,
    }


def _by_layer(paired: Paired, how: Settings, seed: int) -> Value:
    """Score every layer of a pair, with the same groups and shuffles."""
    scores = []
    for states in paired.layers():
        x, y = how.prepared(*states)
        kept = how.compared_items(x, y)
        rng = np.random.default_rng(seed)
        scores.append(score(x[kept], y[kept], paired.sentence[kept], rng, how.measure, how.options))
    return {
        **{
            name: np.array([getattr(each, name) for each in scores])
            for name in ("similarity", "low", "high", "null_low", "null_high")
        },
        "items": int(paired.base.shape[1]),
        "d_model": int(max(paired.base.shape[2], paired.compared.shape[2])),
        "sentences": len(np.unique(paired.sentence)),
        **paired.remarks,
    }
