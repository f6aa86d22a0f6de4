"""The task that compares task vectors: cosines and signs of what fine-tunes changed.

References: Ilharco et al. 2023 (task vectors); Yadav et al. 2023 (signs in conflict). Deviations:
attention and feed-forward matrices alone; signs are compared where both changed, without trimming.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from core.maths.arrays import Value
from core.models.weights.deltas import Delta
from core.studies.task_kit import Cost, Size, costs, pure
from core.studies.weights.clusters.tasks import deltas_with_progress, open_pair

COUNTED = 2**22  # entries at once: single precision counts up to four times as many exactly
COMPARED = 1e-9  # processor seconds per number of a model and other model


def _cost(sizes: Mapping[str, Size], models: Sequence[str], **_: Any) -> Cost:
    """Estimate reading every matrix of the base and each model, and comparing every two."""
    size, count = sizes[models[0]], len(models)
    numbers = sum(
        rows * columns * number for (rows, columns), number in costs.matrices_of(size, ())
    )
    seconds = costs.OPENING * count + numbers * count * (2 * costs.READ + COMPARED * count)
    return Cost(seconds, costs.bytes_of_largest(size) * (count + 1), torch=False)


@pure("weights.task_vectors", cost=_cost)
def compare_vectors(
    base: str, models: tuple[str, ...], base_identity: str, identities: tuple[str, ...]
) -> Value:
    """Multiply the changes of all fine-tunes, and count the signs in which they differ.

    Args:
        base, models: References.
        base_identity, identities: See `core.models.identity`; part of the key.

    Returns:
        "places", family and layer from 0 of each matrix; "products" (matrix, model, model), inner
        products of the changes; "changed" (matrix, model, model), entries that both changed;
        "conflicts" (matrix, model, model), those of them with opposite signs; "weights" (matrix,),
        squared norms of the base's.

    Raises:
        ModelError: If a model cannot be read or is not a fine-tune of the base.
    """
    pairs = [
        open_pair(base, model, base_identity, identity)
        for model, identity in zip(models, identities, strict=True)
    ]
    places = [(slot.family, slot.layer) for slot, _ in pairs[0].slots]
    shape = (len(places), len(models), len(models))
    products = np.zeros(shape)
    changed, conflicts = (np.zeros(shape, dtype=np.int64) for _ in range(2))
    weights = np.zeros(len(places))
    for index, deltas in _together([deltas_with_progress(pair) for pair in pairs], len(places)):
        flat = np.stack([delta.matrix.ravel() for delta in deltas])
        products[index] = flat @ flat.T
        for start in range(0, flat.shape[1], COUNTED):
            signs = np.sign(flat[:, start : start + COUNTED]).astype(np.float32)
            agree, both = (
                part.astype(np.int64) for part in (signs @ signs.T, signs**2 @ signs.T**2)
            )
            changed[index] += both
            conflicts[index] += (both - agree) // 2
        weights[index] = deltas[0].weight_norm ** 2
    return {
        "places": [list(place) for place in places],
        "products": products,
        "changed": changed,
        "conflicts": conflicts,
        "weights": weights,
    }


def _together(streams: Sequence[Iterator[Delta]], count: int) -> Iterator[tuple[int, list[Delta]]]:
    """Give each matrix with the changes of all models, in whatever order each is read."""
    waiting: list[dict[int, Delta]] = [{} for _ in streams]
    for index in range(count):
        for stream, read in zip(streams, waiting, strict=True):
            while index not in read:
                delta = next(stream)
                read[delta.index] = delta
        yield index, [read.pop(index) for read in waiting]
