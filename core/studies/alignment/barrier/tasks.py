"""The pure task of the barrier: losses along straight lines between two networks' weights.

Its value holds `tokens` (sentence,), how many subwords are asked for; `losses` (way, share,
sentence), in nats over each sentence, shares as in `SHARES`, NaN for a way that is not possible;
`ordered`, what was put in order: "units", "heads"; `rotated`, whether norms allow it. A way says in
what order and axes the second model's weights stand; `FOLDED` is the rival of `ROTATED`, and asked
for with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import ModelError
from core.models.identity import check_tokenizers, identify
from core.models.loading.language_models import head_of, load_on_head
from core.models.loading.model import LoadedModel, load_model
from core.models.weights.relation import is_related, measure_relation
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, span, tick
from core.vectors.predicting import (
    ASK,
    PREDICTING,
    Asked,
    check_halves,
    count_answers,
    sum_losses,
    times_read,
    way_to_ask,
)

if TYPE_CHECKING:
    import torch

    from core.studies.alignment.barrier.matching import Layer, Weights


SHARES = tuple(share / 10 for share in range(11))  # of the second model
RAW, MATCHED, NORMS, RANDOM = "as they are", "matched", "matched, norms kept", "random order"
FOLDED, ROTATED = "matched, gains folded", "matched and rotated"
COPIES = 6  # of the model's weights
NEAR = 0.5  # of the distance of unrelated weights; a copy with its units reordered is farther
Ask = Callable[["LoadedModel", Sequence[Sequence[str]]], Asked]


def _cost(
    sizes: Mapping[str, Size], first: str, second: str, base: str, sentences: Words,
    ways: tuple[str, ...], **_: Any,
) -> Cost:  # fmt: skip
    size = sizes[first]
    each = times_read(sizes, first, base)
    paths = len(ways) * (len(SHARES) - 2) + 2  # as if all could be rotated
    passed = costs.passing(size, len(sentences) / 2, each * paths)
    asked = costs.SUBWORDS * len(sentences) / 2 * each * paths
    passed += PREDICTING * costs.vocabulary(size) * asked
    read = costs.passing(size, len(sentences) / 2, 2 * each) if len(ways) > 1 else 0.0
    opened = costs.opening(sizes[second]) + costs.opening(size) + 2 * costs.opening(sizes[base])
    return Cost(opened + passed + read, costs.SINGLE * COPIES * size.parameters)


@pure("alignment.barrier", guard=as_identified, cost=_cost)
def measure_barrier(
    first: str,
    second: str,
    base: str,
    first_identity: str,
    second_identity: str,
    base_identity: str,
    sentences: Words,
    ways: tuple[str, ...],
    seed: int,
) -> Value:
    """Score two networks and what lies between their weights on every other sentence; units and
    heads are matched on the rest. Raises CorpusError if there is a single sentence, ModelError if a
    model fits no base that predicts tokens, or architectures or tokenizers differ."""
    check_halves(sentences)
    with span(0.0, 0.1):
        ask, left, right = open_both(first, second, base)
    fitted, asked = (ask(left, sentences[part::2]) for part in (1, 0))
    scored = len(sentences[0::2])
    losses = np.full((len(ways), len(SHARES), scored), np.nan)
    value: Value = {"tokens": count_answers(asked, scored), "ordered": [], "rotated": False}
    with span(0.1, 1.0):
        for place, (way, start, end) in enumerate(ends_of(left, right, ways, fitted, seed, value)):
            row = losses[ways.index(way)]
            for number, share in enumerate(SHARES):
                if place and share in (0, 1):  # no way changes what the models themselves compute
                    row[number] = losses[0, number]
                    continue
                done = (place + number / len(SHARES)) / len(ways)
                tick(done, f"{way}, {share:.0%} of the second model")
                write_point(left.model, start, end, share, norms=way == NORMS)
                row[number] = sum_losses(left.model, asked, scored)
    return value | {"losses": losses}


@pure("alignment.barrier_origin", expect=lambda sizes, first, second: False)
def keep_order(first: str, second: str) -> bool:
    """Tell by their weights whether two models may have been trained from one and kept its units in
    order; False where they cannot be compared."""
    try:
        contents = [identify(ref, run=False).content for ref in (first, second)]
        relation = measure_relation(first, second, *contents)
    except ModelError:
        return False
    near = relation["distance"] < NEAR * relation["unrelated"]
    return bool(near) and not relation["reason"] and is_related(relation)


def have_heads(first: str, second: str, base: str) -> bool:
    """Tell whether two models have heads that predict tokens, or a base with one."""
    return bool(head_of(base) or (head_of(first) and head_of(second)))


def open_both(
    first: str, second: str, base: str, asked: bool = True
) -> tuple[Ask, LoadedModel, LoadedModel]:
    """Open two models of one architecture with heads that predict tokens, and tell how these are
    asked; where nothing is asked, without heads. Raises ModelError as `measure_barrier` does."""
    check_tokenizers(first, second, "nothing lies between their weights")
    opened = [
        load_on_head(ref, base) if asked else load_model(ref, device="cpu")
        for ref in (first, second)
    ]
    if len({shapes_of(loaded.model.named_parameters()) for loaded in opened}) > 1:
        raise ModelError(
            f"{first} and {second} have weights of other names or shapes, so nothing lies between "
            "them: choose models of one architecture and size."
        )
    way = way_to_ask(first, base, opened[0]) if asked else ASK["masked"]
    return way, opened[0], opened[1]


def shapes_of(weights: Iterable[tuple[str, torch.Tensor]]) -> frozenset[tuple[str, torch.Size]]:
    """Give the names and shapes of weights, which two models need alike to have a line between."""
    return frozenset((name, value.shape) for name, value in weights)


def ends_of(
    left: LoadedModel,
    right: LoadedModel,
    ways: tuple[str, ...],
    fitted: Asked,
    seed: int,
    value: Value,
) -> Iterator[tuple[str, Weights, Weights]]:
    """Give each way with the weights at both ends; what is not possible is left out.

    The first model's own module is then written over, so all is read before.
    """
    from core.studies.alignment.barrier.matching import (
        copied,
        drawn_orders,
        layers_of,
        matched_orders,
        read_inputs,
        reorder,
    )

    first, second = copied(left.model), copied(right.model)
    yield RAW, first, second
    if ways == (RAW,):
        return
    try:
        layers = layers_of(right.model)
    except ModelError:  # not of one stack: only as they are
        return
    left.model.load_state_dict(first, strict=False)
    reads = [read_inputs(model, layers, fitted) for model in (left.model, right.model)]
    config = right.model.config
    if RANDOM in ways:
        drawn = drawn_orders(config, reads[1], len(layers), np.random.default_rng(seed))
        if reorder(right.model, layers, drawn, fitted):
            yield RANDOM, first, copied(right.model)
        right.model.load_state_dict(second, strict=False)
    if not {MATCHED, NORMS, ROTATED} & {*ways}:
        return
    done = reorder(right.model, layers, matched_orders(config, len(layers), *reads), fitted)
    value["ordered"] = list(done)
    matched = copied(right.model)
    for way in (MATCHED, NORMS):
        if done and way in ways:
            yield way, first, matched
    if ROTATED in ways:
        left.model.load_state_dict(first, strict=False)
        yield from _rotated(left, right, layers, fitted, value)


def _rotated(
    left: LoadedModel, right: LoadedModel, layers: list[Layer], fitted: Asked, value: Value
) -> Iterator[tuple[str, Weights, Weights]]:
    """Give the weights of both in one frame, where their norms allow it."""
    from core.models.architectures import describe_type
    from core.studies.alignment.barrier.matching import copied
    from core.studies.alignment.barrier.rotating import fold_gains, rotate, rotation_between

    norm = describe_type(str(right.model.config.model_type), "This model").norm
    if not all(fold_gains(loaded.model, layers, norm) for loaded in (left, right)):
        return
    first = copied(left.model)
    yield FOLDED, first, copied(right.model)
    left.model.load_state_dict(first, strict=False)
    rotate(right.model, layers, rotation_between(left.model, right.model, fitted))
    value["rotated"] = True
    yield ROTATED, first, copied(right.model)


def write_point(
    model: Any, start: Weights, end: Weights, share: float, *, norms: bool = False
) -> None:
    """Write a point of the line into a model; with `norms`, each tensor as long as the line's
    lengths."""
    import torch

    with torch.no_grad():
        for name, value in model.named_parameters():
            torch.lerp(start[name], end[name], share, out=value)
            if norms:
                length = torch.lerp(start[name].norm(), end[name].norm(), share)
                value.mul_(length / value.norm().clamp_min(1e-12))
