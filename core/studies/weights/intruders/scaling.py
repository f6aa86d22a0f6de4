"""The causal test: intruder dimensions are scaled down, and the task and the masked loss are scored
again.

All intruder dimensions of a model are scaled together, from 1 (the model as it is) to 0 (removed).
The task's score is that of the model's own head. The loss on masked tokens is that of the base's
pretraining head on the fine-tune's body. Random directions of equal size and other directions of
the same matrices show what a change of that size does anyway.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228, on scaling intruder dimensions. Deviations:
every subword is masked once, one in seven at a time; the controls are those of `removal`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.errors import ModelError
from core.models.loading.language_models import prediction_kind
from core.models.loading.model import LoadedModel, load_with_head
from core.models.weights.deltas import Pair
from core.models.weights.families import Slot
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick
from core.studies.weights.clusters.tasks import deltas_with_progress, open_pair
from core.studies.weights.intruders.removal import (
    Directions,
    Shrunk,
    choose_directions,
    draw_directions,
)
from core.studies.weights.intruders.tables import SCALES
from core.studies.weights.intruders.tasks import BASE
from core.vectors.examples import Encoded, Pairs, batches, count_hits, encode
from core.vectors.predicting import Asked, ask_masked, count_answers, sum_losses

if TYPE_CHECKING:
    import torch

    from core.models.loading.task_models import TaskModel

SCORED, MASKED_PASSES, COPIES = 300, 420, 4  # sentences, with masked subwords; of the model
AS_READ = partial(as_identified, run=False)
Changed = Sequence[tuple[Slot, Directions | Shrunk]]
Score = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Scored:
    """A fine-tune that can be changed and scored.

    Attributes:
        task: The fine-tune with its head.
        encoded: What its head is scored on.
        masked: The base with its pretraining head, whose body is overwritten; None without one.
        blanks: Batches with masked subwords, and their right answers, -1 elsewhere.
        tokens: How many subwords of each sentence are masked, (sentence,).
        originals: Weights of the matrices as they are, by name.
    """

    task: TaskModel
    encoded: Encoded
    masked: LoadedModel | None
    blanks: Asked
    tokens: NDArray[np.int64]
    originals: Mapping[str, torch.Tensor]


def _cost(sizes: Mapping[str, Size], model: str, removals: int | None = None, **_: Any) -> Cost:
    """Estimate scoring a model at every scale of its directions and controls, or of its update."""
    size = sizes[model]
    runs = (len(SCALES) - 1) * (1 if removals is None else 2 + removals) + 1
    decomposed = BASE * size.layers * 6 * float(size.d_model) ** 3
    return Cost(
        decomposed + costs.running(size, runs * (SCORED + MASKED_PASSES)),
        COPIES * size.parameters * costs.SINGLE,
    )


@pure("weights.scaling", guard=AS_READ, cost=_cost)
def scale_intruders(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    families: tuple[str, ...],
    leading: int,
    threshold: float,
    pairs: Pairs,
    words: tuple[tuple[str, ...], ...],
    removals: int,
    seed: int,
) -> Value:
    """Score a fine-tune with its intruder dimensions scaled by `SCALES`, and with the controls:
    "intruders hits" and "other hits" (scale, sentence), "random hits" (draw, scale, sentence);
    "losses" beside "hits", in nats, where the base predicts masked subwords. Raises ModelError."""
    pair = open_pair(base, model, base_identity, model_identity, families)
    with span(0.0, 0.2):
        matrices = [
            (slot, chosen, beside) for slot, _, chosen, beside in _find(pair, leading, threshold)
        ]
    scored = _open(base, model, pairs, words, pair)
    value: Value = {
        "scaled": sum(chosen.left.shape[1] for _, chosen, _ in matrices),
        "total": scored.encoded.total,
        "tokens": scored.tokens,
    }
    if not matrices:
        return value
    rng = np.random.default_rng(seed)
    intruders = [(slot, chosen) for slot, chosen, _ in matrices]
    others = [(slot, beside) for slot, _, beside in matrices]
    draws = [
        [(slot, draw_directions(directions, rng)) for slot, directions in intruders]
        for _ in range(removals)
    ]
    ways = (intruders, others, *draws)
    plain = _score(scored)
    runs = [_run(scored, plain, changed, at / len(ways)) for at, changed in enumerate(ways)]
    for at, what in enumerate(("hits", "losses")):
        each = [run[at] for run in runs]
        if scored.masked is not None or what == "hits":
            value |= {
                f"intruders {what}": each[0],
                f"other {what}": each[1],
                f"random {what}": np.stack(each[2:]),
            }
    return value


@pure("weights.shrinking", guard=AS_READ, cost=_cost)
def shrink_update(
    base: str,
    model: str,
    base_identity: str,
    model_identity: str,
    families: tuple[str, ...],
    leading: int,
    threshold: float,
    pairs: Pairs,
    words: tuple[tuple[str, ...], ...],
) -> Value:
    """Score a fine-tune whose matrices with intruder dimensions are shrunk by the norm that these
    have: "shrunk hits" and "shrunk losses"; nothing without intruders. Raises ModelError."""
    pair = open_pair(base, model, base_identity, model_identity, families)
    with span(0.0, 0.2):
        changed = [
            (slot, Shrunk(update, float(np.linalg.norm(chosen.left))))
            for slot, update, chosen, _ in _find(pair, leading, threshold)
        ]
    if not changed:
        return {}
    scored = _open(base, model, pairs, words, pair)
    hits, losses = _run(scored, _score(scored), changed, 0.0)
    return {"shrunk hits": hits} | ({} if scored.masked is None else {"shrunk losses": losses})


def _find(
    pair: Pair, leading: int, threshold: float
) -> Iterator[tuple[Slot, NDArray[np.floating], Directions, Directions]]:
    """Find the matrices with intruder dimensions: each with its update, its intruder dimensions and
    the other directions beside them."""
    for delta in deltas_with_progress(pair):
        if delta.matrix.any():
            chosen, beside = choose_directions(delta.weight, delta.matrix, leading, threshold)
            if chosen.left.shape[1]:
                yield pair.slots[delta.index][1], delta.matrix, chosen, beside


def _open(
    base: str, model: str, pairs: Pairs, words: Sequence[Sequence[str]], pair: Pair
) -> Scored:
    from core.models.loading.layers import body_weights, put_body
    from core.models.loading.task_models import load_task_on

    task = load_task_on(model, base)
    encoded = encode(task.tokenizer, task.head, pairs, task.tokenizer.longest)
    weights = dict(task.model.named_parameters())
    originals = {
        slot.tensor: _named(weights, slot.tensor, model).detach().clone() for _, slot in pair.slots
    }
    masked = load_with_head(base, device="cpu") if _predicts(base) else None
    if masked is not None:
        fits = put_body(masked.model, body_weights(task.model))
        masked = masked if fits and masked.tokenizer.mask is not None else None
    blanks = () if masked is None else ask_masked(masked, words)
    return Scored(task, encoded, masked, blanks, count_answers(blanks, len(words)), originals)


def _predicts(base: str) -> bool:
    """Whether a base has a head that predicts masked tokens."""
    try:
        return prediction_kind(base) == "masked"
    except ModelError:
        return False  # no head: the task is scored without the loss


def _named(weights: Mapping[str, torch.Tensor], name: str, model: str) -> torch.Tensor:
    """Find the parameter of a tensor of the checkpoint, whose name may lack the body's prefix."""
    for there, weight in weights.items():
        if there == name or there.endswith(f".{name}") or name.endswith(f".{there}"):
            return weight
    raise ModelError(f"{model} loads without its tensor {name}, so that it cannot be scaled.")


def _run(scored: Scored, plain: Score, changed: Changed, done: float) -> list[NDArray[np.float64]]:
    """Score the model at every scale of these directions: right answers and losses, each (scale,
    sentence). `plain` is its score as it is, `done` the share of the runs that are over."""
    import torch

    scores, weights = [plain], dict(scored.task.model.named_parameters())
    with span(0.2 + 0.8 * done, 1.0):
        tick(0.0, "scaling directions")
    for scale in SCALES[1:]:
        with torch.no_grad():
            for name, original in scored.originals.items():
                _named(weights, name, scored.task.ref).copy_(original)
        for slot, directions in changed:
            tensor = _named(weights, slot.tensor, scored.task.ref)
            slot.add(tensor.numpy(), directions.change(scale))
        scores.append(_score(scored))
    return [np.stack(part) for part in zip(*scores, strict=True)]


def _score(scored: Scored) -> Score:
    """Count right answers and sum the losses of every sentence; no losses without the head."""
    none: NDArray[np.float64] = np.zeros(0)
    right = count_hits(scored.task.model, scored.encoded, batches(scored.encoded)).astype(float)
    return right, none if scored.masked is None else _losses(scored, scored.masked)


def _losses(scored: Scored, masked: LoadedModel) -> NDArray[np.float64]:
    """Sum each sentence's losses of masked subwords, in nats, with the fine-tune's body."""
    from core.models.loading.layers import body_weights, put_body

    put_body(masked.model, body_weights(scored.task.model))
    return sum_losses(masked.model, scored.blanks, len(scored.tokens))
