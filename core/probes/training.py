"""Training a bank of structural probes: all layers of a model (or all ranks of a sweep) as one batched problem.

Every probe of the bank has its own Adam moments, learning rate, best development loss and end, so that each
ends where it would have ended alone; what is shared is the order of batches and the arithmetic. A probe that
has halted leaves the bank. A probe of lower rank than the bank has rows of zeros, which have no gradient (they
enter the loss squared) and so stay zero.

Reference: Hewitt & Manning 2019, NAACL, appendix A.1, and the published code's `regimen.py`: Adam at 1e-3,
batches of 20 sentences, at most 40 epochs, B drawn from U(-.05, .05); after an epoch without a new minimum of the
development loss (by more than 1e-4) the learning rate is divided by ten and the moments forgotten; a probe stops
once its minimum is five epochs old, and the parameters of the minimum are kept.
Deviations: batches are made once, of sentences of similar length, and only their order is shuffled; the
plateau test uses the same absolute 1e-4 as the minimum test, where the code's scheduler takes a relative 1e-4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError, SpecError
from core.probes.structural import PADDING, depth_loss, distance_loss, project, squared_distances, squared_norms

KINDS = ("distance", "depth")
BATCH = 20
EPOCHS = 40
PATIENCE = 5
LEARNING_RATE = 1e-3
DECAY = 0.1
IMPROVEMENT = 1e-4
SPREAD = 0.05
POOL = 50  # batches among whose sentences lengths are sorted: little padding, still mixed company
BETAS, EPSILON = (0.9, 0.999), 1e-8


@dataclass(frozen=True)
class ProbeData:
    """Sentences as a probe sees them.

    Attributes:
        vectors: Word vectors of all sentences, one after another, a word's layers together (so that gathering a
            batch reads whole rows); float32, or float16 to halve the memory.
        gold: Tree distances (word, word) or depths (word,) of each sentence, whole numbers.
    """

    vectors: Float[Tensor, "item layer d_model"]
    gold: Sequence[Int[np.ndarray, ...]]

    def __post_init__(self) -> None:
        if not self.gold:
            raise ShapeError("A probe needs at least one sentence; there are none.")
        words = sum(len(target) for target in self.gold)
        if self.vectors.ndim != 3 or len(self.vectors) != words:
            raise ShapeError(f"Vectors {tuple(self.vectors.shape)} do not fit trees over {words} words.")


@dataclass(frozen=True)
class TrainedBank:
    """Probes at their best on the development sentences.

    Attributes:
        maps: One B a probe; rows beyond a probe's rank are zero.
        layers: Layer that each probe reads (an index into the vectors).
        ranks: Rows of each probe's B that are in use.
        dev_losses: Development loss after each epoch; NaN after a probe halted.
        best_epoch: Epoch (from 0) whose parameters were kept.
    """

    maps: Float[np.ndarray, "probe rank d_model"]
    layers: tuple[int, ...]
    ranks: tuple[int, ...]
    dev_losses: Float[np.ndarray, "epoch probe"]
    best_epoch: Int[np.ndarray, " probe"]


@dataclass(frozen=True)
class _Batch:
    """Places of words among the vectors (0 where padded), gold (-1 where padded) and lengths."""

    places: Int[Tensor, "sentence word"]
    gold: Float[Tensor, ...]
    lengths: Int[Tensor, " sentence"]


def train_bank(
    train: ProbeData,
    dev: ProbeData,
    *,
    kind: str = "distance",
    rank: int | Sequence[int] = 64,
    layers: Sequence[int] | None = None,
    seed: int = 0,
    epochs: int = EPOCHS,
    batch: int = BATCH,
    device: str = "cpu",
    report: Callable[[float, str], None] | None = None,
) -> TrainedBank:
    """Train one probe for each layer, or for each (layer, rank) pair, until each has halted.

    Args:
        train: Sentences to learn from.
        dev: Sentences that decide when to stop.
        kind: "distance" or "depth".
        rank: Rows of B, for all probes, or one for each entry of `layers`; at most d_model.
        layers: Layers to read, one a probe (repeat one for a rank sweep); all by default.
        seed: Draws the initial maps and the order of batches. The maps of a layer and rank do not depend on
            which other probes are in the bank.
        epochs: Most passes over the training sentences.
        batch: Sentences a step.
        device: Where to compute.
        report: Called with the fraction of the most work possible and a note; may raise to stop.

    Raises:
        SpecError: For an unknown kind, a rank outside 1 to d_model, or a layer that is not there.
        ShapeError: If training and development vectors differ in layers or d_model, or gold does not fit the kind.
    """
    layers = tuple(range(train.vectors.shape[1])) if layers is None else tuple(layers)
    ranks = (rank,) * len(layers) if isinstance(rank, int) else tuple(rank)
    _check(train, dev, kind, layers, ranks)
    sources = sorted(set(layers))
    rng = np.random.default_rng(seed)
    batches = _batches(train, kind, batch, rng, device)
    dev_batches = _batches(dev, kind, batch, np.random.default_rng(0), device)
    vectors, dev_vectors = (_on_device(data.vectors, sources, device) for data in (train, dev))
    run = _Run(_initial(layers, ranks, train.vectors.shape[2], seed).to(device), [sources.index(i) for i in layers])
    history = []
    for epoch in range(epochs):
        for step, number in enumerate(rng.permutation(len(batches))):
            run.step(_loss(run.maps, vectors, run.rows, batches[number], kind))
            if report is not None and step % 10 == 0:
                report((epoch + step / len(batches)) / epochs, f"{kind} probes, epoch {epoch + 1}")
        history.append(run.end_epoch(epoch, _mean_loss(run, dev_vectors, dev_batches, kind)))
        if not run.active:
            break
    return TrainedBank(
        run.best.cpu().numpy(), layers, ranks, np.array(history, dtype=np.float64), np.array(run.best_epoch)
    )


class _Run:
    """State of a bank in training: maps, moments, learning rates, and which probes are still in it."""

    def __init__(self, maps: Tensor, rows: list[int]) -> None:
        self.best = maps.clone()
        self.best_epoch = [-1] * len(maps)
        self.minimum = np.full(len(maps), np.inf)
        self.active = list(range(len(maps)))
        self.maps = maps.requires_grad_()
        self.rows = rows
        self.first, self.second = torch.zeros_like(maps), torch.zeros_like(maps)
        self.steps = torch.zeros(len(maps), 1, 1, device=maps.device)
        self.rate = torch.full((len(maps), 1, 1), LEARNING_RATE, device=maps.device)

    def step(self, losses: Float[Tensor, " probe"]) -> None:
        """One step of Adam for each probe: the probes share no parameter, so the sum's gradient is each one's own."""
        (gradient,) = torch.autograd.grad(losses.sum(), self.maps)
        with torch.no_grad():
            self.steps += 1
            self.first.lerp_(gradient, 1 - BETAS[0])
            self.second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
            scale = (self.second / (1 - BETAS[1] ** self.steps)).sqrt_().add_(EPSILON)
            self.maps.addcdiv_(self.first * (-self.rate / (1 - BETAS[0] ** self.steps)), scale)

    def end_epoch(self, epoch: int, losses: Float[np.ndarray, " active"]) -> np.ndarray:
        """Keep new minima, lower the rate of the rest, let go of those that have not improved for long."""
        row = np.full(len(self.best), np.nan)
        row[self.active] = losses
        keep = []
        for slot, probe in enumerate(self.active):
            if losses[slot] < self.minimum[probe] - IMPROVEMENT:
                self.minimum[probe], self.best_epoch[probe] = losses[slot], epoch
                self.best[probe] = self.maps[slot].detach()
            else:
                self.rate[slot] *= DECAY
                for state in (self.first, self.second, self.steps):
                    state[slot] = 0
            if epoch - self.best_epoch[probe] < PATIENCE:
                keep.append(slot)
        if len(keep) < len(self.active):
            self._let_go(keep)
        return row

    def _let_go(self, keep: list[int]) -> None:
        """Shrink the bank to the slots that go on."""
        self.active = [self.active[slot] for slot in keep]
        self.rows = [self.rows[slot] for slot in keep]
        self.maps = self.maps.detach()[keep].requires_grad_()
        self.first, self.second, self.steps, self.rate = (
            state[keep] for state in (self.first, self.second, self.steps, self.rate)
        )


def _check(train: ProbeData, dev: ProbeData, kind: str, layers: tuple[int, ...], ranks: tuple[int, ...]) -> None:
    """Refuse what would train something other than what was asked for."""
    if kind not in KINDS:
        raise SpecError(f"There is no {kind!r} probe; there are {' and '.join(KINDS)} probes.")
    _, count, d_model = train.vectors.shape
    if not layers or len(layers) != len(ranks) or not all(0 <= layer < count for layer in layers):
        raise SpecError(f"Layers {layers} with ranks {ranks} do not fit vectors of {count} layers (0 to {count - 1}).")
    if not all(1 <= rank <= d_model for rank in ranks):
        raise SpecError(f"A probe's rank lies between 1 and d_model, here {d_model}; asked for {ranks}.")
    if dev.vectors.shape[1] != count or dev.vectors.shape[2] != d_model:
        raise ShapeError("Training and development vectors come from different layers or models.")
    for target in (*train.gold, *dev.gold):
        if target.ndim != (2 if kind == "distance" else 1):
            raise ShapeError(f"A {kind} probe cannot learn from gold of shape {target.shape}.")


def _initial(layers: tuple[int, ...], ranks: tuple[int, ...], d_model: int, seed: int) -> Tensor:
    """Maps from U(-.05, .05), each from a generator of its own; zeros beyond a probe's rank."""
    maps = torch.zeros(len(layers), max(ranks), d_model)
    for probe, (layer, rank) in enumerate(zip(layers, ranks, strict=True)):
        values = np.random.default_rng((seed, layer, rank)).uniform(-SPREAD, SPREAD, (rank, d_model))
        maps[probe, :rank] = torch.from_numpy(values)
    return maps


def _on_device(vectors: Tensor, sources: list[int], device: str) -> Float[Tensor, "item source d_model"]:
    """The layers that are read, on the device; no copy where nothing has to move."""
    chosen = vectors if sources == list(range(vectors.shape[1])) else vectors[:, sources]
    return chosen.to(device)


def _batches(data: ProbeData, kind: str, size: int, rng: np.random.Generator, device: str) -> list[_Batch]:
    """Batches of sentences of similar length: shuffled, then sorted by length within pools of batches."""
    lengths = np.array([len(target) for target in data.gold])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    order = rng.permutation(len(lengths))
    batches = []
    for pool in range(0, len(order), POOL * size):
        chosen = order[pool : pool + POOL * size]
        chosen = chosen[np.argsort(lengths[chosen], kind="stable")]
        for start in range(0, len(chosen), size):
            batches.append(_padded(data, chosen[start : start + size], lengths, starts, kind, device))
    return batches


def _padded(
    data: ProbeData, chosen: np.ndarray, lengths: np.ndarray, starts: np.ndarray, kind: str, device: str
) -> _Batch:
    """One batch; gold is kept in 16 bits, since all batches stay in memory."""
    longest = int(lengths[chosen].max())
    places = np.zeros((len(chosen), longest), dtype=np.int64)
    gold = np.full((len(chosen), longest, longest)[: 3 if kind == "distance" else 2], PADDING, dtype=np.int16)
    for row, sentence in enumerate(chosen):
        n = lengths[sentence]
        places[row, :n] = np.arange(starts[sentence], starts[sentence] + n)
        gold[row][(slice(n),) * (gold.ndim - 1)] = data.gold[sentence]
    tensors = (torch.from_numpy(array).to(device) for array in (places, gold, lengths[chosen]))
    return _Batch(*tensors)


def _loss(maps: Tensor, vectors: Tensor, rows: list[int], batch: _Batch, kind: str) -> Float[Tensor, " probe"]:
    """Loss of every probe still in the bank on one batch."""
    read = vectors.index_select(0, batch.places.flatten()).to(maps.dtype).permute(1, 0, 2)
    if len(set(rows)) == 1:  # a rank sweep: all probes read one layer
        read = read[rows[:1]]
    elif rows != list(range(len(read))):
        read = read[rows]
    projected = project(maps, read).view(len(maps), *batch.places.shape, maps.shape[1])
    gold = batch.gold.to(maps.dtype)
    if kind == "distance":
        return distance_loss(squared_distances(projected), gold, batch.lengths)
    return depth_loss(squared_norms(projected), gold, batch.lengths)


def _mean_loss(run: _Run, vectors: Tensor, batches: list[_Batch], kind: str) -> Float[np.ndarray, " active"]:
    """Mean loss over sentences, for each probe still in the bank."""
    total, count = torch.zeros(len(run.active), dtype=torch.float64, device=vectors.device), 0
    with torch.no_grad():
        for batch in batches:
            total += _loss(run.maps, vectors, run.rows, batch, kind).double() * len(batch.lengths)
            count += len(batch.lengths)
    return (total / count).cpu().numpy()
