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
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError, SpecError
from core.probes.structural.bank import Bank
from core.probes.structural.batches import Packer, ProbeData
from core.probes.structural.schedule import BATCH, EPOCHS, SPREAD
from core.runs.runner import checkpoint
from core.runs.store import Value

KINDS = ("distance", "depth")
FORM = "probes.bank/2"  # format of the stored state; raised when `Bank.state` changes
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
        maps: One B per probe, trained in double precision; rows beyond a probe's rank are 0.
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
    bank = Bank(maps, rows, [probe.target for probe in ordered], kind)
    history = _train(
        bank, train, dev, kind=kind, seed=seed, epochs=epochs, batch=batch, report=report
    )
    back = np.argsort(order)
    best = bank.best.cpu().numpy().astype(np.float32)
    losses = np.array(history, dtype=np.float64)
    return TrainedBank(best[back], losses[:, back], np.array(bank.best_epoch)[back])


def _train(
    bank: Bank,
    train: ProbeData,
    dev: ProbeData,
    *,
    kind: str,
    seed: int,
    epochs: int,
    batch: int,
    report: Callable[[float, str], None] | None,
) -> list[np.ndarray]:
    """Train a bank until every probe has stopped; the development losses after each epoch."""
    device, count = str(bank.maps.device), len(bank.maps)
    rng, packer = np.random.default_rng(seed), Packer(train, batch, device)
    vectors, dev_vectors = train.vectors.to(device), dev.vectors.to(device)
    dev_batches = list(Packer(dev, DEV_BATCH, device).epoch())
    history: list[np.ndarray] = []
    kept, begun, skip = checkpoint(FORM), 0, 0

    def state(epoch: int, step: int, drawn: Any) -> Value:
        done = np.stack(history) if history else np.zeros((0, count))
        return bank.state() | {"history": done, "epoch": epoch, "step": step, "drawn": drawn}

    with torch.inference_mode():
        if (resumed := kept.find()) is not None:
            bank.restore(resumed)
            history = list(resumed["history"])
            begun, skip = int(resumed["epoch"]), int(resumed["step"])
            rng.bit_generator.state = resumed["drawn"]
        for epoch in range(begun, epochs if bank.active else 0):
            drawn = rng.bit_generator.state
            for step, chosen in enumerate(packer.epoch(rng, skip), start=skip):
                if kept.due:
                    kept.keep(state(epoch, step, drawn))
                bank.step(vectors, chosen)
                if report is not None and step % 10 == 0:
                    done = (epoch + step / len(packer)) / epochs
                    report(done, f"{kind} probes, epoch {epoch + 1}")
            skip = 0
            history.append(bank.end_epoch(epoch, bank.mean_loss(dev_vectors, dev_batches)))
            if not bank.active:
                break
        if kept.long:
            kept.keep(state(epochs, 0, rng.bit_generator.state))
    return history


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
    """Maps drawn from U(-.05, .05), each with its own generator; zeros beyond a probe's rank.

    In double precision: with their signs, absolute errors make a step of training from the last bit
    of a difference, and in single precision two processors train other probes on the same vectors.
    """
    rank = max(probe.rank for probe in probes)
    maps = torch.zeros(len(probes), rank, d_model, dtype=torch.float64)
    for row, probe in enumerate(probes):
        rng = np.random.default_rng((seed, probe.draw, probe.layer, probe.rank))
        maps[row, : probe.rank] = torch.from_numpy(
            rng.uniform(-SPREAD, SPREAD, (probe.rank, d_model))
        )
    return maps
