"""Similarities of layers that are known to have changed or not: frozen fine-tunes and planted
models.

Unchanged layers give the same vectors bit for bit, so every measure is 1 for them, which tests no
measure. Therefore the other model is rounded, up or down at random, in steps in proportion to its
weight change: then unchanged layers differ a little too, and a measure must distinguish them from
changed ones. Steps of a fixed number of bits would drown a small weight change, and hardly touch a
large one.

In a frozen fine-tune the states change from some layer upward, so that depth alone separates them.
In a planted model any layer may be the fine-tune's: its own weights changed or not, whatever its
state inherits from below. Both its state and, to isolate the layer's own function, its output on
the base's input are compared.

Reference: none. Deviations: none.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from core.maths.similarity.canonical import canonical_forms
from core.maths.similarity.costs import PLAIN, comparing
from core.maths.similarity.registry import MEASURES, Options, compare
from core.models import load_model, load_tokenizer
from core.models.loading.task_models import Head
from core.studies.task_kit import Cost, Size, Value, Words, as_identified, costs, pure, tick
from core.vectors.examples import Encoded, batches, encode
from core.vectors.sinks import TABLE, words_without_sinks

if TYPE_CHECKING:
    from torch import Tensor, nn

ROUNDED = 4e-8  # processor seconds per parameter of a model that is rounded
LONGEST = 256  # subwords of a sentence
States = list[NDArray[np.float64]]


def _cost(
    sizes: Mapping[str, Size], model: str, sentences: Words, items: int, measures: Sequence[str],
    roundings: Sequence[float] = (), plants: int = 0, **_: Any,
) -> Cost:  # fmt: skip
    """Estimate models that are rounded or planted, each compared by every measure; of a planted one
    the outputs are compared, too."""
    size, states = sizes[model], sizes[model].layers + 1
    count = min(items, costs.rows_of(sentences, "words"))
    once = {name: comparing(name, count, size.d_model) + PLAIN / 5 for name in measures}
    shared = [once.pop(name) for name in measures if MEASURES[name].canonical]
    models, readings = (plants, 2) if plants else (len(roundings), 1)
    passes = 1 + models * (4 if plants else 1)
    seconds = costs.running(size, len(sentences), passes, loads=2)
    compared = sum(once.values()) + max(shared, default=0.0)  # of one decomposition
    seconds += models * (ROUNDED * size.parameters + compared * states * readings)
    numbers = states * size.d_model * count
    return Cost(seconds, 3 * size.parameters * costs.SINGLE + 4 * numbers * costs.DOUBLE)


@pure("rsa.truth.frozen", version=4, guard=as_identified, cost=_cost)
def compare_frozen(
    base: str, model: str, base_identity: str, model_identity: str, sentences: Words, items: int,
    measures: tuple[str, ...], roundings: tuple[float, ...], share: float, seed: int,
    sinks: str = "",
) -> Value:  # fmt: skip
    """Compute the similarity of a base's states to a fine-tune's, (rounding, measure, layer),
    rounded by multiples of the weight change; `size` (rounding, layer) of the change with its
    rounding; `changed` (layer,), here or below. Raises ModelError if the two differ in shape."""
    from core.studies.rsa.swap.layer_changes import relative_sizes

    reader = _Reader(base, model, sentences, items, seed, sinks)
    origin, tuned = reader.origin, reader.tuned
    expected = reader.states(origin)
    similarity, sizes = [], []
    moved = relative_sizes(origin, tuned)
    changed = np.maximum.accumulate(moved > 0)
    for number, rounding in enumerate(roundings):
        tick(number / len(roundings), "rounded" if rounding else "unrounded")
        variant = _rounded(
            _mixed(origin, tuned, None, share),
            rounding * share * _update(moved),
            crc32(f"{model} {number} {seed}".encode()),
        )
        similarity.append(_similarities(expected, reader.states(variant), measures))
        sizes.append(relative_sizes(origin, variant))
    value = {"similarity": np.stack(similarity), "size": np.stack(sizes), "changed": changed}
    return value | reader.left_out


@pure("rsa.truth.planted", version=5, guard=as_identified, cost=_cost)
def compare_planted(
    base: str, model: str, base_identity: str, model_identity: str, sentences: Words, items: int,
    measures: tuple[str, ...], rounding: float, share: float, plants: int, seed: int,
    sinks: str = "",
) -> Value:  # fmt: skip
    """Compute the similarity of a base to rounded models in which some layers (`masks`) are a
    fine-tune's, (plant, reading, measure, layer), of states and of outputs on the base's input;
    `size` and `changed` (plant, layer). Errors as for `compare_frozen`."""
    from core.models.loading.layers import layer_list
    from core.studies.rsa.swap.layer_changes import relative_sizes

    reader = _Reader(base, model, sentences, items, seed, sinks)
    origin, tuned = reader.origin, reader.tuned
    expected = reader.states(origin)
    truth = masks(
        plants, len(layer_list(origin)) + 1, np.random.default_rng((seed, crc32(model.encode())))
    )
    noise = rounding * share * _update(relative_sizes(origin, tuned))
    similarity: list[Any] = []
    sizes: list[Any] = []
    for number, chosen in enumerate(truth):
        tick(number / plants, f"model {number + 1} of {plants}")
        changed = _rounded(
            _mixed(origin, tuned, chosen, share), noise, crc32(f"{model} {number} {seed}".encode())
        )
        readings = (reader.states(changed), reader.answers(origin, changed))
        similarity.append([_similarities(expected, states, measures) for states in readings])
        sizes.append(relative_sizes(origin, changed))
    value = {"similarity": np.array(similarity), "size": np.stack(sizes), "changed": truth}
    return value | reader.left_out


def masks(plants: int, layers: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose the layers that planted models take from the fine-tune, (plant, layer), each with
    probability one half, never all or none. Every second choice is the complement of the one before
    it, so that depth says nothing and AUCs vary much less."""
    chosen: list[NDArray[np.bool_]] = []
    while len(chosen) < plants:
        mask = rng.random(layers) < 0.5
        if mask.any() and not mask.all():
            chosen += [mask, ~mask]
    return np.stack(chosen[:plants])


class _Reader:
    """A base and a fine-tune, and the same sampled words, read by their first subwords, with any
    body; `left_out` is the record of the attention sinks that are not sampled."""

    def __init__(
        self, base: str, model: str, sentences: Words, items: int, seed: int, sinks: str
    ) -> None:
        keep: Sequence[Collection[int]] = [range(len(words)) for words in sentences]
        self.left_out: Value = {}
        if sinks:
            readings: list[tuple[str, dict[str, Any]]] = [(base, {}), (model, {})]
            keep, record = words_without_sinks(sentences, None, sinks, *readings)
            self.left_out = {TABLE: record}
        self.origin, self.tuned = (load_model(ref, device="cpu").model for ref in (base, model))
        pairs = tuple((words, (0,) * len(words)) for words in sentences)
        encoded: Encoded = encode(load_tokenizer(base), Head("arcs", ()), pairs, LONGEST)
        self.batches = [replace(batch, starts=None) for batch in batches(encoded)]
        self.places = []
        for batch in self.batches:
            at = [
                (row, start)
                for row, n in enumerate(batch.sentences)
                for word, start in enumerate(encoded.starts[n])
                if start >= 0 and word in keep[n]
            ]
            self.places.append(np.array(at))
        total = sum(map(len, self.places))
        self.chosen = np.sort(
            np.random.default_rng(seed).choice(total, size=min(items, total), replace=False)
        )

    def states(self, body: nn.Module) -> States:
        """Compute every layer's vectors, (item, d_model) each."""
        from core.models.loading.layers import run_seen

        states = [
            self._taken(number, run_seen(body, batch)[0])
            for number, batch in enumerate(self.batches)
        ]
        return [np.concatenate(parts)[self.chosen] for parts in zip(*states, strict=True)]

    def answers(self, origin: nn.Module, changed: nn.Module) -> States:
        """Compute the output of each layer of `changed` on the base's input to it; layer 0 is its
        embeddings."""
        from core.models.loading.layers import apply_layers, calls_of, run_model

        states = []
        for number, batch in enumerate(self.batches):
            run = partial(run_model, batch=batch)
            states.append(self._taken(number, apply_layers(calls_of(origin, run), changed, run)))
        return [np.concatenate(parts)[self.chosen] for parts in zip(*states, strict=True)]

    def _taken(self, number: int, states: Sequence[Tensor]) -> list[NDArray[np.float64]]:
        rows, columns = self.places[number].T
        return [state[rows, columns].double().numpy() for state in states]


def _mixed(
    origin: nn.Module, tuned: nn.Module, chosen: NDArray[np.bool_] | None, share: float
) -> nn.Module:
    """Copy the base with `share` of the fine-tune's change in the chosen layers; in all of them if
    None."""
    import torch

    from core.studies.rsa.swap.layer_changes import numbering

    mixed = copy.deepcopy(origin)
    number_of, theirs = numbering(origin), dict(tuned.named_parameters())
    with torch.no_grad():
        for name, weight in mixed.named_parameters():
            layer = number_of(name)
            if name in theirs and layer is not None and (chosen is None or chosen[layer]):
                weight.copy_(
                    theirs[name] if share == 1.0 else torch.lerp(weight, theirs[name], share)
                )
    return mixed


def _update(sizes: NDArray[np.float64]) -> float:
    """Give the root mean square of the weight changes of the layers that changed; 0 of none."""
    moved = sizes[sizes > 0]
    return float(np.sqrt(np.square(moved).mean())) if len(moved) else 0.0


def _rounded(model: nn.Module, noise: float, seed: int) -> nn.Module:
    """Round every matrix in steps that change it by `noise` times its norm; 0 rounds nothing. It is
    random, or the base's layers would be equal in all models. The error of a weight between two
    steps has a sixth of the squared step as its mean square."""
    import torch

    drawn = torch.Generator().manual_seed(seed)
    if noise:
        with torch.no_grad():
            for weight in model.parameters():
                if weight.dim() == 2:
                    step = 6**0.5 * noise * weight.square().mean().sqrt()
                    weight.copy_(
                        (weight / step + torch.rand(weight.shape, generator=drawn)).floor() * step
                        if step > 0
                        else weight
                    )
    return model


def _similarities(base: States, changed: States, measures: Sequence[str]) -> NDArray[np.float64]:
    """Compare two models' states: (measure, layer)."""
    options: Any = Options("cosine", "pearson")
    forms = [name for name in measures if MEASURES[name].canonical]
    rows: dict[str, list[float]] = {name: [] for name in measures}
    for x, y in zip(base, changed, strict=True):
        correlations = canonical_forms(x, y, forms) if forms else {}
        for name in measures:
            shared = correlations.get(name)
            rows[name].append(compare(x, y, name, options) if shared is None else shared)
    return np.array([rows[name] for name in measures])
