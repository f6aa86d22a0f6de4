"""Exchanging layers of two models that share a space: what is built, the tests that it is built right, what it scores.

A donor (the base, the base with random weights, the fine-tune plus noise) gives layers to the fine-tune; the head is
always the fine-tune's. Layer 0 is the embeddings, layer l the l-th block; the state at layer l is what layer l gives.

    below      layers 0 to l are the donor's, the rest the fine-tune's
    above      layers 0 to l are the fine-tune's, the rest the donor's
    layer      layer l alone is the donor's
    only       layer l alone is the fine-tune's
    truncated  the head reads the fine-tune's state at layer l
    removed    layer l hands on what it gets

Noise is the rival of a donor's layer: the fine-tune's own weights plus its change from the base turned at random, so
that size and singular values are those of the real change and its directions are nobody's. Where noise costs as much
as the base's layer does, any change of that size and rank would.

Before a number leaves, the machine is tested on the longest sentences: a copy of the fine-tune as donor must change
nothing, everything from the base must give the base's own top state, and layers that fine-tuning left alone must
change nothing when they are exchanged.

Reference: Merchant et al. 2020, BlackboxNLP, section 5 (truncation). Deviations: their head is trained again on the
truncated model, ours is not.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from core.errors import ModelError
from core.models import checkpoints, load_model, load_tokenizer, locate
from core.models.running import Batch, answers_in_tuples, layer_list, run_model, run_rebuilt, state_list
from core.models.task_models import TaskModel, load_task
from core.rsa.experiments.examples import Encoded, Pairs, batches, encode, hits
from core.rsa.experiments.ways import BASE_WAYS, DONOR_WAYS
from core.runs.store import Value
from core.runs.tasks import pure, span, tick

BOTTOM = re.compile(r"embed|\bwte\b|\bwpe\b")  # weights below the layers
LARGEST_ROTATION = 1024
ROUNDING = 1e-4  # of the largest logit: what another order of additions may change, and no exchange may exceed
Layers = list["nn.Module | None"]


@dataclass(frozen=True)
class Pair:
    """A fine-tune with its head, and the sizes of its layers' changes against the base.

    Attributes:
        task: The fine-tune.
        changes: Each weight's change against the base, by its name in the body.
        sizes: Relative size of each layer's change over its matrices, (layer,).
        unchanged: Whether every weight of the layer is the base's, bit for bit, (layer,).
        in_tuple: See `running.answers_in_tuples`.
    """

    task: TaskModel
    changes: dict[str, Tensor]
    sizes: NDArray[np.float64]
    unchanged: NDArray[np.bool_]
    in_tuple: bool

    @property
    def layers(self) -> list[nn.Module]:
        """The fine-tune's own."""
        return list(layer_list(self.task.model))

    def run(self, batch: Batch, hidden: Tensor, layers: Sequence[nn.Module | None]) -> Any:
        """The fine-tune's head over a state that goes through these layers."""
        return run_rebuilt(self.task.model, batch, hidden, layers, in_tuple=self.in_tuple)


@pure("rsa.swap", version=2)
def swap_layers(
    base: str, model: str, base_identity: str, model_identity: str, pairs: Pairs, noises: int, random: bool, seed: int
) -> Value:
    """Right answers of a fine-tune under every exchange of layers with its base.

    Args:
        base, model: References; the model has a head that labels sentences or words.
        base_identity, model_identity: For the key.
        pairs: What it is scored on, of its head's kind.
        noises: Draws of noise.
        random: Whether the base with random weights is a donor too.
        seed: Of the noise.

    Returns:
        `own` (sentence,), `total` (sentence,), `{way}` (layer, sentence) for `BASE_WAYS` (-1 for removed at layer 0),
        `random/{way}` (layer, sentence) and `noise/{way}` (draw, layer, sentence) for `DONOR_WAYS`; `sizes` and
        `unchanged` (layer,); `self_difference`, `whole_difference` and `frozen_difference`: the largest difference of
        a logit or state that the three tests saw, 0 where it is the same bit for bit.

    Raises:
        ModelError: If a model cannot be loaded, the two have not one shape and vocabulary, or a test fails.
    """
    task = load_task(model)
    origin = load_model(base, device="cpu").model
    if load_tokenizer(base).get_vocab() != task.tokenizer.get_vocab():
        raise ModelError(
            f"{base} and {model} have other vocabularies, so layers cannot be exchanged; name its own base."
        )
    encoded = encode(task.tokenizer, task.head, pairs, _longest(model))
    work = list(batches(encoded))
    pair = _compare(base, origin, task, work[0])
    value: Value = {"total": encoded.total, "sizes": pair.sizes, "unchanged": pair.unchanged}
    value["self_difference"] = _into_itself(pair, work[0])
    steps = 1 + bool(random) + noises
    with span(0.0, 1 / steps):
        value |= _with_base(pair, origin, work, encoded)
    del origin
    if random:
        with span(1 / steps, 2 / steps):
            drawn = load_model(f"random:{base}", device="cpu").model
            value |= {f"random/{way}": found for way, found in _with_donor(pair, drawn, work, encoded).items()}
            del drawn
    noisy: dict[str, list[NDArray[np.int64]]] = {way: [] for way in DONOR_WAYS}
    for number in range(noises):
        with span((1 + bool(random) + number) / steps, (2 + bool(random) + number) / steps):
            donor = _noisy(pair, seed + number)
            for way, found in _with_donor(pair, donor, work, encoded).items():
                noisy[way].append(found)
            del donor
    return value | {f"noise/{way}": np.stack(found) for way, found in noisy.items() if found}


@pure("rsa.task_score")
def score_task(model: str, model_identity: str, pairs: Pairs) -> Value:
    """Right answers of a model by itself: `own` (sentence,) and `total` (sentence,).

    Raises:
        ModelError: If it cannot be loaded or has no such head.
    """
    task = load_task(model)
    encoded = encode(task.tokenizer, task.head, pairs, _longest(model))
    own = np.zeros(len(encoded.total), dtype=np.int64)
    for batch in batches(encoded):
        tick(0.5, f"sentences through {model}")
        own[batch.sentences] = hits(encoded, batch, run_model(task.model, batch))
    return {"own": own, "total": encoded.total}


def body_of(model: nn.Module) -> nn.Module:
    """The Transformer under a task model's head; a model without a head is its own body."""
    body = getattr(model, "body", None)  # of an arc parser
    if isinstance(body, nn.Module):
        return body
    found = getattr(model, str(getattr(model, "base_model_prefix", "")), model)
    return found if isinstance(found, nn.Module) else model


def _longest(ref: str) -> int:
    return checkpoints.longest_input(checkpoints.read_config(locate(ref)))


def _compare(base: str, origin: nn.Module, task: TaskModel, batch: Batch) -> Pair:
    """The pair, with the size of each layer's change.

    Raises:
        ModelError: If the two have not the same weights in layers and embeddings.
    """
    own, other = dict(body_of(task.model).named_parameters()), dict(body_of(origin).named_parameters())
    number_of = numbering(task.model)
    placed = {name: layer for name in own if (layer := number_of(name)) is not None}
    layers = len(layer_list(task.model)) + 1
    if any(name not in other or other[name].shape != own[name].shape for name in placed) or layers != 1 + len(
        layer_list(origin)
    ):
        raise ModelError(
            f"{task.ref} and {base} have layers of other shapes, so none can be exchanged; name its own base."
        )
    changes, moved, size = {}, np.zeros(layers), np.zeros(layers)
    same = np.ones(layers, dtype=bool)
    for name, layer in placed.items():
        changes[name] = own[name] - other[name]
        same[layer] &= torch.equal(other[name], own[name])
        if changes[name].dim() == 2:
            moved[layer] += float(changes[name].double().norm()) ** 2
            size[layer] += float(other[name].double().norm()) ** 2
    sizes = np.sqrt(moved / np.where(size > 0, size, 1.0))
    return Pair(task, changes, sizes, same, answers_in_tuples(task.model, batch))


def numbering(model: nn.Module) -> Any:
    """A function from a weight's name in the body to its layer; None for what stands above the layers."""
    body, places = body_of(model), layer_list(model)
    stack = next(name for name, module in body.named_modules() if module is places)

    def number_of(name: str) -> int | None:
        if name.startswith(f"{stack}."):
            return 1 + int(name[len(stack) + 1 :].split(".")[0])
        return 0 if BOTTOM.search(name) else None

    return number_of


def _noisy(pair: Pair, seed: int) -> nn.Module:
    """The fine-tune's body with its own change added once more, turned at random."""
    donor = copy.deepcopy(body_of(pair.task.model))
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in donor.named_parameters():
            if name in pair.changes:
                weight.add_(turned(pair.changes[name], drawn, rows=not BOTTOM.search(name)))
    return donor


def turned(change: Tensor, drawn: torch.Generator, *, rows: bool = True) -> Tensor:
    """A change of the same size and the same singular values in random directions.

    Args:
        change: A matrix or a vector.
        drawn: Source of randomness.
        rows: Whether rows are turned too. Those of an embedding are not: each word moves as far as it did.
    """
    made: Tensor
    if change.dim() != 2:
        made = change[torch.randperm(len(change), generator=drawn)] * _signs(len(change), drawn)
        return made
    right = _rotation(change.shape[1], drawn)
    made = change @ right if right.dim() == 2 else change[:, right.long()] * _signs(change.shape[1], drawn)
    if not rows:
        return made
    left = _rotation(change.shape[0], drawn)
    made = left @ made if left.dim() == 2 else made[left.long()] * _signs(change.shape[0], drawn)[:, None]
    return made


def _rotation(size: int, drawn: torch.Generator) -> Any:
    """A random orthogonal matrix, or, where that would take long, a permutation (signs are added to it)."""
    if size > LARGEST_ROTATION:
        return torch.randperm(size, generator=drawn)
    return torch.linalg.qr(torch.randn(size, size, generator=drawn))[0]


def _signs(size: int, drawn: torch.Generator) -> Any:
    return torch.randint(0, 2, (size,), generator=drawn).float() * 2 - 1


def _with_base(pair: Pair, origin: nn.Module, work: Sequence[Batch], encoded: Encoded) -> Value:
    """Hits of `BASE_WAYS` and of the fine-tune itself, and the two tests that need the base."""
    own, theirs = pair.layers, list(layer_list(origin))
    count = len(own) + 1
    found = {way: np.full((count, len(encoded.total)), -1, dtype=np.int64) for way in BASE_WAYS}
    mine = np.zeros(len(encoded.total), dtype=np.int64)
    whole = frozen = 0.0
    for number, batch in enumerate(work):
        tick(number / len(work), f"batch {number + 1} of {len(work)}")
        ours, base = state_list(pair.task.model, batch), state_list(origin, replace(batch, starts=None))
        plain = run_model(pair.task.model, batch)
        mine[batch.sentences] = hits(encoded, batch, plain)
        if number == 0:
            whole = _differ(
                pair, "everything from the base", pair.run(batch, base[0], theirs),
                pair.run(batch, base[-1], [None] * len(own)),
            )  # fmt: skip
        for way in BASE_WAYS:
            for layer in range(1 if way == "removed" else 0, count):
                output = pair.run(batch, *_built(way, layer, ours, base, own, theirs))
                found[way][layer, batch.sentences] = hits(encoded, batch, output)
                if _untouched(way, layer, pair.unchanged):
                    frozen = max(frozen, _differ(pair, f"layers that did not change ({way} {layer})", output, plain))
    return {**found, "own": mine, "whole_difference": whole, "frozen_difference": frozen}


def _with_donor(pair: Pair, donor: nn.Module, work: Sequence[Batch], encoded: Encoded) -> dict[str, NDArray[np.int64]]:
    """Hits of `DONOR_WAYS`."""
    own, theirs = pair.layers, list(layer_list(donor))
    found = {way: np.zeros((len(own) + 1, len(encoded.total)), dtype=np.int64) for way in DONOR_WAYS}
    for number, batch in enumerate(work):
        tick(number / len(work), f"batch {number + 1} of {len(work)}")
        ours, other = state_list(pair.task.model, batch), state_list(donor, replace(batch, starts=None))
        for way in DONOR_WAYS:
            for layer in range(len(own) + 1):
                output = pair.run(batch, *_built(way, layer, ours, other, own, theirs))
                found[way][layer, batch.sentences] = hits(encoded, batch, output)
    return found


def _built(
    way: str, layer: int, ours: list[Tensor], other: list[Tensor], own: list[nn.Module], theirs: list[nn.Module]
) -> tuple[Tensor, Layers]:
    """The state that enters and the layers that it goes through; those below the exchange have been run already."""
    below: Layers = [None] * layer
    if way == "below":
        return other[layer], [*below, *own[layer:]]
    if way == "above":
        return ours[layer], [*below, *theirs[layer:]]
    if way == "truncated":
        return ours[layer], [None] * len(own)
    if way == "removed":
        return ours[layer - 1], [*below, *own[layer:]]
    mine, rest, states = (theirs, own, ours) if way == "layer" else (own, theirs, other)
    if layer == 0:  # the embeddings alone
        return (other if way == "layer" else ours)[0], list(rest)
    return states[layer - 1], [*below[1:], mine[layer - 1], *rest[layer:]]


def _untouched(way: str, layer: int, unchanged: NDArray[np.bool_]) -> bool:
    """Whether an exchange takes nothing from the base that differs from the fine-tune's own."""
    taken = {"below": unchanged[: layer + 1], "above": unchanged[layer + 1 :], "layer": unchanged[layer : layer + 1]}
    return way in taken and bool(taken[way].all())


def _into_itself(pair: Pair, batch: Batch) -> float:
    """The largest difference that a copy of the fine-tune makes as donor."""
    twin = copy.deepcopy(body_of(pair.task.model))
    own, theirs = pair.layers, list(layer_list(twin))
    ours, other = state_list(pair.task.model, batch), state_list(twin, replace(batch, starts=None))
    plain = run_model(pair.task.model, batch)
    return max(
        _differ(pair, "a copy of the model", pair.run(batch, *_built(way, layer, ours, other, own, theirs)), plain)
        for way in ("below", "above", "layer", "only")
        for layer in range(len(own) + 1)
    )


def _differ(pair: Pair, what: str, found: Any, expected: Any) -> float:
    """The largest difference of two outputs' logits.

    Raises:
        ModelError: If it is more than rounding, or an answer differs: then no number of this pair can be trusted.
    """
    one, other = (output if isinstance(output, Tensor) else output.logits for output in (found, expected))
    if torch.equal(one, other):
        return 0.0
    difference = float((one - other).abs().max())
    largest = float(other[other > torch.finfo(other.dtype).min].abs().max())
    if difference > ROUNDING * largest or not torch.equal(one.argmax(-1), other.argmax(-1)):
        raise ModelError(
            f"The exchange of layers does not work for {pair.task.ref}: {what} should change nothing and changes a "
            f"logit by {difference:.2g}. Use a BERT-like model."
        )
    return difference
