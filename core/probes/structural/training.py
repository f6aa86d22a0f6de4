"""Training a bank of structural probes: all layers, seeds and control trees of a model at once.

Every probe of the bank has its own Adam moments, learning rate, best development loss and stopping
point, so that it is trained as if it were alone; the order of batches and the arithmetic are
shared. A probe that has stopped leaves the bank. A probe of lower rank than the bank has rows of
zeros, which have no gradient (they enter the loss squared) and therefore stay zero.

Reference: Hewitt & Manning 2019, NAACL, appendix A.1, and the published code's `regimen.py`: Adam
at 1e-3, batches of 20 sentences shuffled each epoch, at most 40 epochs, B drawn from U(-.05, .05);
after an epoch without a new minimum of the development loss (by more than 1e-4) the learning rate
is divided by ten and the moments are reset; a probe stops once its minimum is five epochs old, and
the parameters of the minimum are kept.
Deviations: the plateau test uses the same absolute 1e-4 as the minimum test, where the code's
scheduler takes a relative 1e-4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError, SpecError
from core.probes.structural.batches import Batch, Block, Packer, ProbeData
from core.probes.structural.probe import (
    depth_gradient,
    depth_loss,
    distance_gradient,
    distance_loss,
    squared_distances,
    squared_norms,
)
from core.probes.structural.schedule import (
    BATCH,
    BETAS,
    DECAY,
    EPOCHS,
    EPSILON,
    IMPROVEMENT,
    LEARNING_RATE,
    PATIENCE,
    SPREAD,
)
from core.runs.runner import checkpoint
from core.runs.store import Value

KINDS = ("distance", "depth")
FORM = "probes.bank/1"  # format of the stored state; raised when `_Run.state` changes
DEV_BATCH = 100  # development sentences per batch


@dataclass(frozen=True)
class Probe:
    """One probe of a bank.

    Attributes:
        layer: Layer that it reads, by its number in the model.
        rank: Rows of its B.
        draw: Number of the draw; the initial map depends on (seed, draw, layer, rank) only.
        target: Index of the set of trees on which it is trained.
    """

    layer: int
    rank: int
    draw: int = 0
    target: int = 0


@dataclass(frozen=True)
class TrainedBank:
    """Probes at their best development loss, in the order of the request.

    Attributes:
        maps: One B per probe; rows beyond a probe's rank are 0.
        dev_losses: Development loss after each epoch; NaN after a probe has stopped.
        best_epoch: Epoch (from 0) whose parameters were kept.
    """

    maps: Float[np.ndarray, "probe rank d_model"]
    dev_losses: Float[np.ndarray, "epoch probe"]
    best_epoch: Int[np.ndarray, " probe"]


def train_bank(
    train: ProbeData,
    dev: ProbeData,
    probes: Sequence[Probe],
    *,
    kind: str = "distance",
    layers: Sequence[int] | None = None,
    seed: int = 0,
    epochs: int = EPOCHS,
    batch: int = BATCH,
    device: str = "cpu",
    report: Callable[[float, str], None] | None = None,
) -> TrainedBank:
    """Train probes until each has stopped; in a run, checkpoints are stored at intervals.

    Args:
        train: Training sentences.
        dev: Sentences that decide when a probe stops.
        probes: The probes to train.
        kind: "distance" or "depth".
        layers: Numbers of the vectors' layers, in order; 0 and up by default.
        seed: Of the initial maps and of the order of sentences in each epoch, the same for all
            probes.
        epochs: Most passes over the training sentences.
        batch: Sentences per step.
        device: Where to compute.
        report: Called with the fraction of the maximum work and a note; may raise to stop.

    Raises:
        SpecError: For an unknown kind, a rank outside 1 to d_model, or an unknown layer or target.
        ShapeError: If training and development vectors differ in layers or d_model, or gold does
            not fit the kind.

    Example:
        >>> chain = np.array([[[0, 1, 2], [1, 0, 1], [2, 1, 0]]])
        >>> vectors = torch.tensor([[[0.0, 0.0]], [[1.0, 0.0]], [[1.0, 1.0]]])
        >>> data = ProbeData(vectors.repeat(4, 1, 1), [chain] * 4)
        >>> bank = train_bank(data, data, [Probe(layer=0, rank=2), Probe(layer=0, rank=1)],
        ...     epochs=3)
        >>> losses = bank.dev_losses
        >>> bank.maps.shape, losses.shape, bool((losses[-1] < losses[0]).all())
        ((2, 2, 2), (3, 2), True)
    """
    numbers = tuple(range(train.vectors.shape[1])) if layers is None else tuple(layers)
    _check(train, dev, probes, kind, numbers)
    order = sorted(range(len(probes)), key=lambda i: numbers.index(probes[i].layer))
    ordered = [probes[i] for i in order]
    rows = [numbers.index(probe.layer) for probe in ordered]
    maps = _initial(ordered, train.vectors.shape[2], seed).to(device)
    run = _Run(maps, rows, [probe.target for probe in ordered], kind)
    rng, packer, held = (
        np.random.default_rng(seed),
        Packer(train, batch, device),
        Packer(dev, DEV_BATCH, device),
    )
    vectors, dev_vectors, dev_batches = (
        train.vectors.to(device),
        dev.vectors.to(device),
        list(held.epoch()),
    )
    history: list[np.ndarray] = []
    kept, begun, skip = checkpoint(FORM), 0, 0
    with torch.inference_mode():
        if (resumed := kept.find()) is not None:
            run.restore(resumed)
            history, begun, skip = (
                list(resumed["history"]),
                int(resumed["epoch"]),
                int(resumed["step"]),
            )
            rng.bit_generator.state = resumed["drawn"]
        for epoch in range(begun, epochs if run.active else 0):
            drawn = rng.bit_generator.state
            for step, chosen in enumerate(packer.epoch(rng, skip), start=skip):
                if kept.due:
                    done = np.stack(history) if history else np.zeros((0, len(probes)))
                    kept.keep(
                        run.state()
                        | {"history": done, "epoch": epoch, "step": step, "drawn": drawn}
                    )
                run.step(vectors, chosen)
                if report is not None and step % 10 == 0:
                    report(
                        (epoch + step / len(packer)) / epochs, f"{kind} probes, epoch {epoch + 1}"
                    )
            skip = 0
            history.append(run.end_epoch(epoch, run.mean_loss(dev_vectors, dev_batches)))
            if not run.active:
                break
        if kept.long:
            ended = {"epoch": epochs, "step": 0, "drawn": rng.bit_generator.state}
            kept.keep(run.state() | {"history": np.stack(history)} | ended)
    back = np.argsort(order)
    best, losses = run.best.cpu().numpy(), np.array(history, dtype=np.float64)
    return TrainedBank(best[back], losses[:, back], np.array(run.best_epoch)[back])


STATE = ("best", "maps", "first", "second", "steps", "rate", "targets")
LISTS = ("rows", "active", "best_epoch")


class _Run:
    """State of a bank in training, sorted by layer: maps, moments, rates, and the active probes."""

    def __init__(self, maps: Tensor, rows: list[int], targets: list[int], kind: str) -> None:
        self.best, self.maps, self.rows = maps.clone(), maps, rows
        self.targets, self.pairs = torch.tensor(targets, device=maps.device), kind == "distance"
        self.best_epoch = [-1] * len(maps)
        self.minimum = np.full(len(maps), np.inf)
        self.active = list(range(len(maps)))
        self.first, self.second = torch.zeros_like(maps), torch.zeros_like(maps)
        self.steps = torch.zeros(len(maps), 1, 1, device=maps.device)
        self.rate = torch.full((len(maps), 1, 1), LEARNING_RATE, device=maps.device)

    def state(self) -> Value:
        """Everything needed to resume training."""
        tensors = {name: getattr(self, name).cpu().numpy() for name in STATE}
        return tensors | {"minimum": self.minimum, **{name: getattr(self, name) for name in LISTS}}

    def restore(self, state: Value) -> None:
        """Resume from the output of `state`, in a new run of the same probes."""
        for name in STATE:  # copied, so that memory is aligned as torch aligns it
            setattr(self, name, torch.tensor(state[name], device=self.maps.device))
        self.minimum = np.array(state["minimum"])
        for name in LISTS:
            setattr(self, name, list(state[name]))

    def step(self, vectors: Float[Tensor, "item layer d_model"], batch: Batch) -> None:
        """Take one step of Adam for each probe; probes share no parameters."""
        read = vectors.index_select(0, batch.words).to(self.maps.dtype)
        projected = self._project(read)
        for block in batch.blocks:
            part = projected[:, block.places]
            gold = self._own(block.gold)
            if self.pairs:
                part.copy_(
                    distance_gradient(_in_sentences(part, block), gold, block.weights).flatten(1, 2)
                )
            else:
                part.copy_(depth_gradient(part, gold.flatten(1), block.weights.flatten()))
        gradient = torch.empty_like(self.maps)
        for row, mine in self._by_layer():
            # All probes of a layer read the same vectors without a copy.
            torch.bmm(
                projected[mine].transpose(1, 2),
                read[:, row].expand(mine.stop - mine.start, -1, -1),
                out=gradient[mine],
            )
        self._adam(gradient)

    def mean_loss(self, vectors: Tensor, batches: Sequence[Batch]) -> Float[np.ndarray, " active"]:
        """Mean loss over sentences, for each active probe."""
        total, count = torch.zeros(len(self.active), dtype=torch.float64, device=vectors.device), 0
        for batch in batches:
            projected = self._project(vectors.index_select(0, batch.words).to(self.maps.dtype))
            for block in batch.blocks:
                part, gold = _in_sentences(projected[:, block.places], block), self._own(block.gold)
                losses = (
                    distance_loss(squared_distances(part), gold, block.lengths)
                    if self.pairs
                    else depth_loss(squared_norms(part), gold, block.lengths)
                )
                total += losses.double() * len(block.lengths)
                count += len(block.lengths)
        return (total / count).cpu().numpy()

    def end_epoch(self, epoch: int, losses: Float[np.ndarray, " active"]) -> np.ndarray:
        """Keep new minima, lower the rate of the other probes, drop those that have stopped."""
        row = np.full(len(self.best), np.nan)
        row[self.active] = losses
        keep = []
        for slot, probe in enumerate(self.active):
            if losses[slot] < self.minimum[probe] - IMPROVEMENT:
                self.minimum[probe], self.best_epoch[probe] = losses[slot], epoch
                self.best[probe] = self.maps[slot]
            else:
                self.rate[slot] *= DECAY
                for state in (self.first, self.second, self.steps):
                    state[slot] = 0
            if epoch - self.best_epoch[probe] < PATIENCE:
                keep.append(slot)
        if len(keep) < len(self.active):
            self._shrink(keep)
        return row

    def _project(
        self, read: Float[Tensor, "item layer d_model"]
    ) -> Float[Tensor, "probe item rank"]:
        """Words projected by every active probe, each from its layer."""
        projected = torch.empty(len(self.maps), len(read), self.maps.shape[1], device=read.device)
        for row, mine in self._by_layer():
            maps = self.maps[mine]
            torch.bmm(
                read[:, row].expand(len(maps), -1, -1), maps.transpose(1, 2), out=projected[mine]
            )
        return projected

    def _own(self, gold: Float[Tensor, "target ..."]) -> Float[Tensor, "probe ..."]:
        """The trees of each probe; one set for all where there is only one."""
        return gold if len(gold) == 1 else gold.index_select(0, self.targets)

    def _by_layer(self) -> list[tuple[int, slice]]:
        """Pairs of a row of the vectors and the slice of probes that read it."""
        blocks, start = [], 0
        for row, members in groupby(self.rows):
            stop = start + len(list(members))
            blocks.append((row, slice(start, stop)))
            start = stop
        return blocks

    def _adam(self, gradient: Tensor) -> None:
        """Adam with a rate and a step count for every probe, both changed at its plateaus."""
        self.steps += 1
        self.first.lerp_(gradient, 1 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        root = (1 - BETAS[1] ** self.steps).sqrt()
        scale = (BETAS[0] ** self.steps - 1) / (
            self.rate * root
        )  # of the denominator: -rate * root / (1 - beta^t)
        self.maps.addcdiv_(
            self.first, torch.addcmul(scale * root * EPSILON, self.second.sqrt(), scale)
        )

    def _shrink(self, keep: list[int]) -> None:
        """Shrink the bank to these slots."""
        self.active = [self.active[slot] for slot in keep]
        self.rows = [self.rows[slot] for slot in keep]
        self.targets, self.maps, self.first, self.second, self.steps, self.rate = (
            state[keep]
            for state in (self.targets, self.maps, self.first, self.second, self.steps, self.rate)
        )


def _in_sentences(
    part: Float[Tensor, "probe item rank"], block: Block
) -> Float[Tensor, "probe sentence word rank"]:
    """Reshape a block's words by sentence."""
    return part.reshape(len(part), *block.shape, part.shape[2])


def _check(
    train: ProbeData, dev: ProbeData, probes: Sequence[Probe], kind: str, numbers: tuple[int, ...]
) -> None:
    """Refuse requests that do not fit the data."""
    if kind not in KINDS:
        raise SpecError(f"There is no {kind!r} probe. Choose {' or '.join(KINDS)}.")
    _, count, d_model = train.vectors.shape
    if len(numbers) != count or len(set(numbers)) != count:
        raise ShapeError(f"Vectors of {count} layers cannot be numbered {numbers}.")
    if not probes or any(probe.layer not in numbers for probe in probes):
        asked = tuple(probe.layer for probe in probes)
        raise SpecError(f"Probes of layers {asked} do not fit vectors of layers {numbers}.")
    if any(not 1 <= probe.rank <= d_model for probe in probes):
        asked = tuple(probe.rank for probe in probes)
        raise SpecError(f"A probe's rank is 1 to d_model, here {d_model}; got {asked}.")
    if any(not 0 <= probe.target < train.targets for probe in probes):
        raise SpecError(f"A probe's target is 0 to {train.targets - 1}, one of the sets of trees.")
    if (
        dev.vectors.shape[1] != count
        or dev.vectors.shape[2] != d_model
        or dev.targets != train.targets
    ):
        raise ShapeError("Training and development data differ in layers, dimensions or targets.")
    for target in (*train.gold, *dev.gold):
        if target.ndim != (3 if kind == "distance" else 2):
            raise ShapeError(f"Gold of shape {target.shape} does not fit a {kind} probe.")


def _initial(
    probes: Sequence[Probe], d_model: int, seed: int
) -> Float[Tensor, "probe rank d_model"]:
    """Maps drawn from U(-.05, .05), each with its own generator; zeros beyond a probe's rank."""
    maps = torch.zeros(len(probes), max(probe.rank for probe in probes), d_model)
    for row, probe in enumerate(probes):
        rng = np.random.default_rng((seed, probe.draw, probe.layer, probe.rank))
        maps[row, : probe.rank] = torch.from_numpy(
            rng.uniform(-SPREAD, SPREAD, (probe.rank, d_model))
        )
    return maps
