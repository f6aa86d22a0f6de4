"""The study's tasks: two models on the same items, layer by layer or every layer against every layer.

A task's arguments hold everything that its numbers depend on: references for loading, fingerprints for the key,
the words themselves. Vectors come from `core.vectors.activations`, which stores them sentence by sentence.
"""

from __future__ import annotations

import numpy as np

from core.models.identity import as_identified
from core.rsa.measures.preparing import prepare_pair
from core.rsa.measures.registry import Options, compare, get_measure, score
from core.runs.runner import tick
from core.runs.store import Value
from core.runs.tasks import pure
from core.vectors.pairs import Kept, Words, extract_pair


@pure("rsa.compare", version=3, guard=as_identified)
def compare_models(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    sentences: Words,
    kept: Kept,
    items: str,
    measure: str,
    kernel: str,
    comparison: str,
    standardise: bool,
    drop_rogue: int,
    share: float,
    draws: int,
    seed: int,
) -> Value:
    """Compute the similarity of two models by layer, with band and chance level.

    Args:
        base: Reference of the base model.
        other: Reference of the other model.
        base_identity: See `models.identity`; part of the key.
        other_identity: The same for the other model.
        sentences: Words of each sentence.
        kept: Positions of the sampled words of each sentence; empty where items are whole sentences.
        items: "words", "cls" or "mean".
        measure: One of `MEASURES`.
        kernel: For RSA.
        comparison: For RSA.
        standardise: Whether dimensions are standardised.
        drop_rogue: Rogue dimensions dropped.
        share: Below 1, the other's weights lie at this share of the way from the base's to its own.
        draws: Bootstrap draws.
        seed: Seed of the bootstrap and the chance level; every layer uses the same draws.

    Returns:
        `similarity`, `low`, `high`, `null_low`, `null_high`, each (layer,) float64; `items`, `d_model`, `sentences`
        and `notices`.

    Raises:
        ModelError: If a model cannot be loaded.
        ShapeError: If fewer than 10 items are left, or the measure refuses the shapes.
    """
    paired = extract_pair(base, other, base_identity, other_identity, sentences, kept, items, share=share)
    columns: dict[str, list[float]] = {name: [] for name in ("similarity", "low", "high", "null_low", "null_high")}
    layers = len(paired.base)
    together = get_measure(measure).coordinates
    for layer in range(layers):
        tick(0.7 + 0.3 * layer / layers, f"layer {layer}")
        x, y = prepare_pair(paired.base[layer], paired.other[layer], standardise, drop_rogue, together=together)
        rng = np.random.default_rng(seed)
        result = score(x, y, paired.sentence, rng, measure, Options(kernel, comparison), draws)
        for name, values in columns.items():
            values.append(getattr(result, name))
    return {
        **{name: np.array(values) for name, values in columns.items()},
        "items": int(paired.base.shape[1]),
        "d_model": int(max(paired.base.shape[2], paired.other.shape[2])),
        "sentences": len(np.unique(paired.sentence)),
        "notices": list(paired.notices),
    }


@pure("rsa.grid", version=2, guard=as_identified)
def compare_layers(
    base: str,
    other: str,
    base_identity: str,
    other_identity: str,
    sentences: Words,
    kept: Kept,
    items: str,
    measure: str,
    kernel: str,
    comparison: str,
    standardise: bool,
    drop_rogue: int,
    share: float,
) -> Value:
    """Compute the similarity of every layer of one model to every layer of the other.

    Arguments and errors as for `compare_models`.

    Returns:
        `similarity` (layer of the base, layer of the other), `items` and `notices`.
    """
    paired = extract_pair(base, other, base_identity, other_identity, sentences, kept, items, False, share)
    together, options = get_measure(measure).coordinates, Options(kernel, comparison)
    similarity = np.zeros((len(paired.base), len(paired.other)))
    for row, first in enumerate(paired.base):
        tick(0.7 + 0.3 * row / len(similarity), f"layer {row} against all")
        for column, second in enumerate(paired.other):
            x, y = prepare_pair(first, second, standardise, drop_rogue, together=together)
            similarity[row, column] = compare(x, y, measure, options)
    return {"similarity": similarity, "items": int(paired.base.shape[1]), "notices": list(paired.notices)}
