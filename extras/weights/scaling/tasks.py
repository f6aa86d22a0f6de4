"""Tasks of the causal test: intruder dimensions are scaled down, and the task and the masked loss
are scored again.

A direction is one term s u v^T of the fine-tuned matrix's singular value decomposition; scaling it
by c subtracts (1 - c) s u v^T. All intruder dimensions of a model are scaled together, from 1 (the
model as it is) to 0 (removed). What a change of that size does anyway is shown by as many other
directions: random ones (u and v drawn at random, the same s), and those of the same matrix that are
no intruder dimensions and whose singular values are nearest.

The task's score is that of the model's own head. The loss on masked tokens is that of the base's
pretraining head on the fine-tune's body.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228, on scaling intruder dimensions. Deviations:
every subword is masked once, one in seven at a time; both controls are ours, as described above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from numpy.typing import NDArray

from core.errors import ModelError
from core.models.loading.language_models import prediction_kind
from core.models.loading.model import LoadedModel, load_with_head
from core.models.weights.deltas import Pair
from core.models.weights.matrix_families import Slot
from core.studies.task_kit import Cost, Size, Value, as_identified, costs, pure, span, tick
from core.studies.weights.clusters.tasks import deltas_with_progress, open_pair
from core.studies.weights.intruders.tasks import BASE
from core.vectors.examples import Encoded, Pairs, batches, count_hits, encode
from core.vectors.predicting import Asked, ask_masked, count_answers, sum_losses
from extras.weights.scaling.tables import SCALES

if TYPE_CHECKING:
    import torch

    from core.models.loading.task_models import TaskModel

SCORED, MASKED_PASSES, COPIES = 300, 420, 4  # sentences, with masked subwords; of the model
AS_READ = partial(as_identified, run=False)
Score = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Directions:
    """Terms of a matrix, s u v^T each.

    Attributes:
        left: Vectors u with their sizes s, shape (output, direction).
        right: Unit vectors v, shape (input, direction).
    """

    left: Float[ndarray, "output direction"]
    right: Float[ndarray, "input direction"]

    def change(self, scale: float) -> Float[ndarray, "output input"]:
        """Compute what scaling these terms by `scale` adds to the matrix."""
        change: ndarray = (scale - 1.0) * self.left @ self.right.T
        return change


@dataclass(frozen=True)
class Shrunk:
    """A matrix's whole update, shrunk by the norm that scaling its intruder dimensions removes.

    Attributes:
        update: The fine-tuned matrix minus the base's, shape (output, input).
        removed: Frobenius norm that removing the intruder dimensions takes away.
    """

    update: Float[ndarray, "output input"]
    removed: float

    def change(self, scale: float) -> Float[ndarray, "output input"]:
        """Compute what shrinking by (1 - scale) of that norm, or to nothing, adds to the matrix."""
        share = (1.0 - scale) * self.removed / float(np.linalg.norm(self.update))
        change: ndarray = -min(share, 1.0) * self.update
        return change


Changed = Sequence[tuple[Slot, Directions | Shrunk]]


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
    "losses" beside "hits", in nats, where the base predicts masked subwords; "scaled", the number
    of directions, "total" and "tokens" (sentence,), alone where there are none. Raises
    ModelError."""
    pair = open_pair(base, model, base_identity, model_identity, families)
    with span(0.0, 0.2):
        matrices = [  # without the updates, which would take as much room as the model
            (slot, intruders, beside)
            for slot, _, intruders, beside in _find(pair, leading, threshold)
        ]
    scored = _open(base, model, pairs, words, pair)
    value: Value = {
        "scaled": sum(intruders.left.shape[1] for _, intruders, _ in matrices),
        "total": scored.encoded.total,
        "tokens": scored.tokens,
    }
    if not matrices:
        return value
    rng = np.random.default_rng(seed)
    scaled = [(slot, intruders) for slot, intruders, _ in matrices]
    others = [(slot, beside) for slot, _, beside in matrices]
    draws = [
        [(slot, draw_directions(directions, rng)) for slot, directions in scaled]
        for _ in range(removals)
    ]
    ways = (scaled, others, *draws)
    plain = _score(scored)
    runs = [_run(scored, plain, changed, at / len(ways)) for at, changed in enumerate(ways)]
    hits, losses = zip(*runs, strict=True)
    measured = {"hits": hits} | ({} if scored.masked is None else {"losses": losses})
    for part, (of_intruders, of_others, *of_draws) in measured.items():
        value |= {
            f"intruders {part}": of_intruders,
            f"other {part}": of_others,
            f"random {part}": np.stack(of_draws),
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
            (slot, Shrunk(update, float(np.linalg.norm(intruders.left))))
            for slot, update, intruders, _ in _find(pair, leading, threshold)
        ]
    if not changed:
        return {}
    scored = _open(base, model, pairs, words, pair)
    hits, losses = _run(scored, _score(scored), changed, 0.0)
    return {"shrunk hits": hits} | ({} if scored.masked is None else {"shrunk losses": losses})


def choose_directions(
    base: Float[ndarray, "output input"],
    delta: Float[ndarray, "output input"],
    leading: int,
    threshold: float,
) -> tuple[Directions, Directions]:
    """Find the intruder dimensions among a fine-tuned matrix's `leading` directions, and for each
    another direction (of all, each at most once) whose singular value is nearest; fewer where none
    is left."""
    origin = np.linalg.svd(np.asarray(base, np.float64), full_matrices=False)[0]
    left, sizes, right = np.linalg.svd(np.asarray(base + delta, np.float64), full_matrices=False)
    cosines = np.abs(origin.T @ left).max(0)
    examined = np.arange(len(sizes)) < leading
    places = np.flatnonzero(examined & (cosines < threshold))
    rest = [place for place in range(len(sizes)) if place not in set(places.tolist())]
    partners = []
    for place in places[: len(rest)]:
        nearest = min(rest, key=lambda other: abs(sizes[other] - sizes[place]))
        partners.append(nearest)
        rest.remove(nearest)
    intruders, others = (
        Directions(left[:, at] * sizes[at], right[at].T) for at in (places, partners)
    )
    return intruders, others


def draw_directions(like: Directions, rng: np.random.Generator) -> Directions:
    """Draw random directions of the same sizes."""
    drawn = (rng.normal(size=side.shape) for side in (like.left, like.right))
    left, right = (vectors / np.linalg.norm(vectors, axis=0) for vectors in drawn)
    return Directions(left * np.linalg.norm(like.left, axis=0), right)


def _find(
    pair: Pair, leading: int, threshold: float
) -> Iterator[tuple[Slot, NDArray[np.floating], Directions, Directions]]:
    """Find the matrices with intruder dimensions: each with its update, its intruder dimensions and
    the other directions beside them."""
    for delta in deltas_with_progress(pair):
        if delta.matrix.any():
            intruders, beside = choose_directions(delta.weight, delta.matrix, leading, threshold)
            if intruders.left.shape[1]:
                yield pair.slots[delta.index][1], delta.matrix, intruders, beside


def _open(
    base: str, model: str, pairs: Pairs, words: Sequence[Sequence[str]], pair: Pair
) -> Scored:
    from core.models.loading.layers import body_weights, put_body
    from core.models.loading.task_models import load_task

    task = load_task(model, base)
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
    """Count right answers and sum the losses, in nats, of every sentence; no losses without the
    head, which is put on the fine-tune's body."""
    from core.models.loading.layers import body_weights, put_body

    right = count_hits(scored.task.model, scored.encoded, batches(scored.encoded)).astype(float)
    if scored.masked is None:
        return right, np.zeros(0)
    put_body(scored.masked.model, body_weights(scored.task.model))
    return right, sum_losses(scored.masked.model, scored.blanks, len(scored.tokens))
