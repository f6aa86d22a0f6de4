"""The tasks: task vectors are compared, by cosines and signs, and their sums are scored under the
head of one fine-tune.

The sum is written into all weights under the head; what a model has beside the base's weights stays
its own. The rival replaces the others' changes by random ones of equal norm and spectrum.

References: Ilharco et al. 2023 (task vectors); Yadav et al. 2023 (signs in conflict). Deviations:
each task is scored with the head of its fine-tune, which was trained on that fine-tune's states;
none is trained on those of the sum. Of attention and feed-forward matrices alone vectors are
compared; signs where both changed, without trimming.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ModelError
from core.models.loading.model import load_model
from core.models.weights.deltas import Delta
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick
from core.studies.weights.clusters.tasks import deltas_of, deltas_with_progress, open_pair
from core.vectors.examples import Pairs, batches, count_hits, encode

if TYPE_CHECKING:
    import torch

COUNTED = 2**22  # entries at once: single precision counts up to four times as many exactly
COMPARED = 1e-9  # processor seconds per number of a model and other model
WRITTEN = 6e-9  # processor seconds per number of a model to add a change
Factors = tuple[float, ...]
Weights = dict[str, "torch.Tensor"]


def _compare_cost(sizes: Mapping[str, Size], models: Sequence[str], **_: Any) -> Cost:
    """Estimate reading every matrix of the base and each model, and comparing every two."""
    size, count = sizes[models[0]], len(models)
    numbers = sum(
        rows * columns * number for (rows, columns), number in costs.matrices_of(size, ())
    )
    seconds = costs.OPENING * count + numbers * count * (2 * costs.READ + COMPARED * count)
    return Cost(seconds, costs.bytes_of_largest(size) * (count + 1), torch=False)


@pure("weights.task_vectors", cost=_compare_cost)
def compare_vectors(
    base: str, models: tuple[str, ...], base_identity: str, identities: tuple[str, ...]
) -> Value:
    """Multiply the changes of all fine-tunes: "products", "changed" (entries that both changed) and
    "conflicts" (those with opposite signs), each (matrix, model, model), of "places" (family and
    layer); "weights", the base's squared norms; "notices". Raises ModelError if a model cannot be
    read or is no fine-tune of the base."""
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
        "notices": [notice for pair in pairs for notice in pair.notices],
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


def _score_cost(
    sizes: Mapping[str, Size], model: str, models: Sequence[str], pairs: Pairs,
    sums: Sequence[Factors], randoms: int, **_: Any,
) -> Cost:  # fmt: skip
    size, rivals = sizes[model], sum(map(has_others, sums))
    points = len(sums) + randoms * rivals
    opened = sum(costs.opening(sizes[ref]) for ref in models)
    added = WRITTEN * size.parameters * (points + randoms) * (1 + len(models))
    turned = costs.turning(size) * randoms * len(models)
    return Cost(
        opened + added + turned + costs.running(size, len(pairs), points, loads=2),
        costs.SINGLE * size.parameters * (5 + 2 * len(models)),
    )


@pure("weights.arithmetic", guard=partial(as_identified, run=False), cost=_score_cost)
def score_sums(
    base: str,
    model: str,
    models: tuple[str, ...],
    base_identity: str,
    model_identity: str,
    identities: tuple[str, ...],
    pairs: Pairs,
    sums: tuple[Factors, ...],
    randoms: int,
    seed: int,
) -> Value:
    """Count right answers with sums of task vectors on the base, under the head of `model`, whose
    factor is first: "hits" (sum, sentence) of "total" (sentence,), "random" (draw, sum, sentence),
    -1 where none is added. Raises ModelError if a model cannot be read, scored or added."""
    from core.models.loading.layers import body_weights, put_body
    from core.models.loading.task_models import load_task

    for ref, identity in zip((model, *models), (model_identity, *identities), strict=True):
        next(deltas_of(open_pair(base, ref, base_identity, identity)))  # refuses strangers
    with span(0.0, 0.1):
        task = load_task(model, base)
        start = body_weights(load_model(base, device="cpu").model)
        weights = [{name: value.clone() for name, value in body_weights(task.model).items()}]
        weights += [body_weights(load_model(ref, device="cpu").model) for ref in models]
    for ref, each in zip((model, *models), weights, strict=True):
        _refuse_misfits(base, ref, start, each)
    encoded = encode(task.tokenizer, task.head, pairs, task.tokenizer.longest)
    parts = tuple(batches(encoded))

    def hits(added: Sequence[Weights], factors: Factors) -> NDArray[np.int64]:
        put_body(task.model, add_changes(start, added, factors))
        return count_hits(task.model, encoded, parts)

    right, random = [], np.full((randoms, len(sums), len(pairs)), -1, dtype=np.int64)
    for place, row in enumerate(sums):
        tick(0.1 + 0.9 * place / len(sums) / (1 + randoms), "sums of task vectors")
        right.append(hits(weights, row))
    for draw in range(randoms):
        turned = [weights[0], *_turned(start, weights[1:], seed + draw)]
        for place, row in enumerate(sums):
            done = (1 + draw + place / len(sums)) / (1 + randoms)
            tick(0.1 + 0.9 * done, f"random changes, draw {draw + 1} of {randoms}")
            if has_others(row):
                random[draw, place] = hits(turned, row)
    return {"total": encoded.total, "hits": np.stack(right), "random": random}


def has_others(row: Factors) -> bool:
    """Whether a sum adds the change of another fine-tune; where it only subtracts, no random change
    is tried in its place."""
    return max(row[1:], default=0.0) > 0


def _refuse_misfits(base: str, ref: str, start: Weights, weights: Weights) -> None:
    """Refuse a fine-tune with weights of other shapes, as of a larger vocabulary."""
    for name in start:
        if name in weights and weights[name].shape != start[name].shape:
            raise ModelError(
                f"{ref} has other shapes than {base} ({name}), so their weights cannot be added: "
                "choose fine-tunes with the base's vocabulary."
            )


def add_changes(start: Weights, weights: Sequence[Weights], factors: Factors) -> Weights:
    """Add to a base what fine-tunes changed, in float64, so that a factor of 1 gives a fine-tune
    itself; what the base lacks is the first fine-tune's."""
    total = dict(weights[0])
    for name, origin in start.items():
        if name not in total:
            continue
        here, wide = origin, origin.double()
        for factor, each in zip(factors, weights, strict=True):
            if factor and name in each:
                here = here + factor * (each[name].double() - wide)
        total[name] = here.float()
    return total


def _turned(start: Weights, weights: Sequence[Weights], seed: int) -> list[Weights]:
    """Replace the changes of fine-tunes by random ones of equal norm and spectrum."""
    import torch

    from core.vectors.turning import turn_change

    drawn = torch.Generator().manual_seed(seed)
    return [
        {name: start[name] + turn_change(name, each[name] - start[name], drawn)
         for name in each if name in start}
        for each in weights
    ]  # fmt: skip
