"""Layer swaps between two models that share a space: how the swapped model runs, its self-tests,
its score.

A donor (the base, the base with random weights, the fine-tune with a random change; see
`layer_changes`) gives layers to the fine-tune; the head is always the fine-tune's. Layer 0 is the
embeddings, layer k the k-th block; the state at layer k is the output of layer k. The kinds of swap
are described in `replacement`.

Before any score is returned, three self-tests run: a copy of the fine-tune as donor must not change
the output of the longest sentences (of few of them in a large model), the whole base as donor must
give the base's own top state, and swapping layers that fine-tuning did not change must not change
the output.

A value of `swap_layers` also holds `own` and `total` (sentence,), right answers of the fine-tune
as it is and answers in all; `random/{way}` (layer, sentence); `sizes` and `unchanged` (layer,); and
for each self-test the largest difference of a logit or state, `self_difference`,
`whole_difference` and `frozen_difference`, 0 where it is the same bit for bit.

Reference: Merchant et al. 2020, BlackboxNLP, section 5 (truncation). Deviations: their head is
retrained on the truncated model, ours is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.models import load_model
from core.models.identity import check_tokenizers
from core.models.loading.task_models import load_task
from core.studies.rsa.swap.interventions import BASE_WAYS, DONOR_WAYS, MOST_KEPT, TESTED
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick
from core.vectors.examples import BATCH, Pairs, batches, encode, hits

if TYPE_CHECKING:
    from torch import nn

    from core.studies.rsa.swap.replacement import Work

SWAPPED = 0.45  # of a pass that a layer swap runs, with padding
TEST_SWAPS = 4  # kinds of swap that the self-tests run
MEASURED = 4  # batches, evenly spaced by length, on which changes of outputs are measured
SCALINGS = 4  # of a random change, each a pass over these batches


def _swaps(size: Size, pairs: Pairs, runs: int, donors: int, layers: int) -> Cost:
    """Estimate runs of swapped models, each of which runs the layers above its swap, and the
    self-tests of these layers, on sentences twice as long as most."""
    sentences = len(pairs)
    tested = min(2 * min(sentences, BATCH), TESTED / (costs.SUBWORDS * size.parameters))
    passed = sentences * (SWAPPED * runs + donors + 1) + tested * SWAPPED * TEST_SWAPS * layers
    states = min(float(MOST_KEPT), costs.stored(size, sentences) * 3)
    return Cost(
        costs.running(size, passed, loads=2 + donors), 4 * size.parameters * costs.SINGLE + states
    )


def _layers_cost(
    sizes: Mapping[str, Size],
    model: str,
    pairs: Pairs,
    random: bool,
    layers: Sequence[int] = (),
    random_layers: Sequence[int] = (),
    **_: Any,
) -> Cost:
    swapped = len(layers) or sizes[model].layers + 1
    at_random = len(DONOR_WAYS) * random * (len(random_layers) or swapped)
    return _swaps(sizes[model], pairs, len(BASE_WAYS) * swapped + at_random, 1 + random, swapped)


def _changes_cost(
    sizes: Mapping[str, Size],
    model: str,
    pairs: Pairs,
    noises: int,
    layers: Sequence[int] = (),
    **_: Any,
) -> Cost:
    size, measured = sizes[model], min(len(pairs), MEASURED * BATCH)
    swapped = len(layers) or size.layers + 1
    swaps = _swaps(size, pairs, len(DONOR_WAYS) * noises * swapped, noises, swapped)
    scaled = costs.passing(size, measured, SCALINGS * noises + 2)
    calls = min(float(MOST_KEPT), costs.stored(size, measured) * 3)
    return replace(
        swaps,
        seconds=swaps.seconds + scaled + noises * costs.turning(size),
        memory=swaps.memory + calls,
    )


def _score_cost(sizes: Mapping[str, Size], model: str, pairs: Pairs, **_: Any) -> Cost:
    size = sizes[model]
    return Cost(costs.running(size, len(pairs)), size.parameters * costs.SINGLE)


@pure("rsa.swap", version=4, guard=as_identified, cost=_layers_cost)
def swap_layers(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    pairs: Pairs,
    random: bool,
    layers: tuple[int, ...] = (),
    random_layers: tuple[int, ...] = (),
) -> Value:
    """Count a fine-tune's right answers under every swap with its base, by way (layer, sentence),
    -1 where there is none; no `layers` are all, no `random_layers` are `layers`. Raises ModelError
    if a self-test fails or the two models do not fit."""
    work, origin = _opened(base, model, pairs, layers)
    pair = work.pair
    value: Value = {"total": work.encoded.total, "sizes": pair.sizes, "unchanged": pair.unchanged}
    value["self_difference"] = work.into_itself()
    share = len(BASE_WAYS) / (len(BASE_WAYS) + random * len(DONOR_WAYS))
    with span(0.0, share):
        value |= work.with_base(origin)
    del origin
    if random:
        drawn = load_model(f"random:{base}", device="cpu").model
        with span(share, 1.0):
            scored = work.run(drawn, DONOR_WAYS, layers=random_layers)
            value |= {f"random/{way}": correct for way, correct in scored.items()}
    return value


@pure("rsa.swap_changes", guard=as_identified, cost=_changes_cost)
def swap_changes(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    pairs: Pairs,
    noises: int,
    seed: int,
    layers: tuple[int, ...] = (),
) -> Value:
    """Count a fine-tune's right answers under random changes that move outputs as far as its own:
    `noise/{way}` (draw, layer, sentence), and `noise_scale` (layer,), by which they were scaled.
    Raises ModelError as `swap_layers` does."""
    from core.studies.rsa.swap.layer_changes import Measured, noise_donor, output_changes

    work, origin = _opened(base, model, pairs, layers)
    work.into_itself()
    measured = Measured(work.pair, work.batches[:: -(-len(work.batches) // MEASURED)])
    changes = output_changes(measured, origin)
    del origin
    noisy: dict[str, list[NDArray[np.int64]]] = {way: [] for way in DONOR_WAYS}
    scales = []
    for number in range(noises):
        with span(number / noises, (number + 1) / noises):
            donor, scale = noise_donor(measured, seed + number, changes)
            scales.append(scale)
            for way, correct in work.run(donor, DONOR_WAYS).items():
                noisy[way].append(correct)
            del donor
    return {f"noise/{way}": np.stack(drawn) for way, drawn in noisy.items()} | {
        "noise_scale": np.mean(scales, axis=0)
    }


def _opened(base: str, model: str, pairs: Pairs, layers: tuple[int, ...]) -> tuple[Work, nn.Module]:
    """What a fine-tune is scored on, with its difference from the base, and the base."""
    from core.studies.rsa.swap.layer_changes import compare
    from core.studies.rsa.swap.replacement import Work

    check_tokenizers(base, model, "no layer can be swapped")
    task = load_task(model)
    origin = load_model(base, device="cpu").model
    encoded = encode(task.tokenizer, task.head, pairs, task.tokenizer.longest)
    parts = list(batches(encoded))
    return Work(compare(base, origin, task, parts[0]), parts, encoded, layers), origin


@pure("rsa.task_score", guard=as_identified, cost=_score_cost)
def score_task(model: str, model_identity: str, pairs: Pairs) -> Value:
    """Count the right answers of an unmodified model: `own` (sentence,) and `total` (sentence,).
    Raises ModelError if it cannot be loaded or has no such head."""
    from core.models.loading.layers import run_model

    task = load_task(model)
    encoded = encode(task.tokenizer, task.head, pairs, task.tokenizer.longest)
    correct = np.zeros(len(encoded.total), dtype=np.int64)
    for batch in batches(encoded):
        tick(0.5, f"sentences through {model}")
        correct[batch.sentences] = hits(encoded, batch, run_model(task.model, batch))
    return {"own": correct, "total": encoded.total}
