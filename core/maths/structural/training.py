"""Training banks of structural probes: all layers and ranks of a model at once, draw by draw.

Every probe of a bank has its own Adam moments, learning rate, best development loss and stopping
point, so that it is trained as if it were alone; the arithmetic is shared. A probe that has stopped
leaves the bank. A probe of lower rank than the bank has rows of zeros, which have no gradient (they
enter the loss squared) and therefore stay zero. Each draw has a bank of its own with an order of
sentences of its own, so that the spread between draws is that of everything that chance decides.

Reference: Hewitt & Manning 2019, NAACL, appendix A.1, and the published code's `regimen.py`: Adam
at 1e-3, batches of 20 sentences shuffled each epoch, at most 40 epochs, B drawn from U(-.05, .05);
after an epoch without a new minimum of the development loss (by more than 1e-4) the learning rate
is divided by ten and the moments are reset; a probe stops once its minimum is five epochs old, and
the parameters of the minimum are kept.
Deviations: the plateau test uses the same absolute 1e-4 as the minimum test, where the code's
scheduler takes a relative 1e-4; a probe also stops once its rate is so low that an epoch cannot
move any parameter far enough for a new minimum (see `schedule.STILL`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import ShapeError, SpecError
from core.maths.arrays import Value
from core.maths.devices import fast_half
from core.maths.progress import checkpoint
from core.maths.structural.bank import Bank, Scratch, in_precision
from core.maths.structural.batches import Batch, Packer, ProbeData
from core.maths.structural.costs import CONVERGED
from core.maths.structural.schedule import AT_HAND, BATCH, EPOCHS, SPREAD

KINDS = ("distance", "depth")
FORM = "probes.bank/3"  # format of the stored state; raised when `Bank.state` changes
DEV_BATCH = 100  # development sentences per batch
ALMOST = 0.97  # of the progress, where probes train for longer than most


@dataclass(frozen=True)
class Probe:
    """One probe of a bank.

    Attributes:
        layer: Layer that it reads, by its number in the model.
        rank: Rows of its B.
        draw: Number of the draw; the initial map depends on (seed, draw, layer, rank) only, the
            order of sentences on (seed, draw).
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
        maps: One B per probe, float32; rows beyond a probe's rank are 0.
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
    exact: bool = True,
    device: str = "cpu",
    report: Callable[[float, str], None] | None = None,
    bank_of: Callable[..., Bank] = Bank,
    packer_of: Callable[..., Packer] = Packer,
) -> TrainedBank:
    """Train probes until each has stopped; in a run, checkpoints are stored at intervals.

    Args:
        train: Training sentences.
        dev: Sentences that decide when a probe stops.
        probes: The probes to train.
        kind: "distance" or "depth".
        layers: Numbers of the vectors' layers, in order; 0 and up by default.
        seed: Of the initial maps and of the order of sentences in each epoch.
        epochs: Most passes over the training sentences.
        batch: Sentences per step.
        exact: Whether probes are trained in double precision, see `_precisions`.
        device: Where to compute.
        report: Called with the fraction of the expected work and a note; may raise to stop.
        bank_of, packer_of: Make banks and pack their batches, for probes with a further loss.

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
    rank, d_model = max(probe.rank for probe in probes), train.vectors.shape[2]
    precision, products = _precisions(exact)
    courses, scratch = [], Scratch()  # banks take turns in the same memory
    for draw in dict.fromkeys(probe.draw for probe in probes):
        places = [place for place, probe in enumerate(probes) if probe.draw == draw]
        places.sort(key=lambda place: numbers.index(probes[place].layer))
        members = [probes[place] for place in places]
        rows = [numbers.index(probe.layer) for probe in members]
        maps = _initial(members, (rank, d_model), seed).to(device, precision)
        bank = bank_of(maps, rows, [probe.target for probe in members], kind)
        bank.products, bank.scratch = products, scratch
        courses.append(_Course(bank, places, np.random.default_rng((seed, draw))))
    packed = ((train, batch), (dev, DEV_BATCH))
    packers = tuple(packer_of(part, size, device, precision) for part, size in packed)
    read = (train.vectors.to(device), dev.vectors.to(device))
    history = _train(courses, packers, read, kind=kind, epochs=epochs, report=report)
    best, epoch = np.zeros((len(probes), rank, d_model), np.float32), np.zeros(len(probes), int)
    for course in courses:
        best[course.places] = course.bank.best.cpu().numpy()
        epoch[course.places] = course.bank.best_epoch
    return TrainedBank(best, np.array(history, dtype=np.float64), epoch)


@dataclass
class _Course:
    """The probes of one draw in training, which read the sentences in an order of their own.

    Attributes:
        bank: The probes.
        places: Their places in the request.
        rng: Draws the order of sentences of each epoch.
    """

    bank: Bank
    places: list[int]
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.drawn: Any = self.rng.bit_generator.state  # of the epoch that is trained

    def batches(self, packer: Packer, skip: int) -> Iterator[Batch]:
        """The batches of the next epoch, from number `skip`."""
        self.drawn = self.rng.bit_generator.state
        return packer.epoch(self.rng, skip)


def _train(
    courses: Sequence[_Course],
    packers: Sequence[Packer],
    read: tuple[Tensor, Tensor],
    *,
    kind: str,
    epochs: int,
    report: Callable[[float, str], None] | None,
) -> list[np.ndarray]:
    """Train banks, an epoch of each in turn, until every probe has stopped; the development losses
    of all probes after each epoch.

    Packers and vectors are those of the training and of the development sentences.
    """
    packer, count = packers[0], sum(len(each.places) for each in courses)
    bank = courses[0].bank
    vectors, dev_vectors = map(_at_hand, read, (bank.products, bank.maps.dtype))
    dev_batches = list(packers[1].epoch())
    history: list[np.ndarray] = []
    stored, begun, first, skip = checkpoint(FORM), 0, 0, 0

    def state(epoch: int, number: int, step: int) -> Value:
        banks = {
            f"{place}.{name}": part
            for place, course in enumerate(courses)
            for name, part in course.bank.state().items()
        }
        done = np.stack(history) if history else np.zeros((0, count))
        drawn = [
            course.drawn if place == number else course.rng.bit_generator.state
            for place, course in enumerate(courses)
        ]
        where = {"epoch": epoch, "number": number, "step": step, "drawn": drawn}
        return banks | where | {"history": done}

    with torch.inference_mode():
        if (resumed := stored.find()) is not None:
            history = list(resumed["history"])
            begun, first, skip = (int(resumed[name]) for name in ("epoch", "number", "step"))
            for place, course in enumerate(courses):
                names = [name for name in resumed if name.startswith(f"{place}.")]
                course.bank.restore({name.partition(".")[2]: resumed[name] for name in names})
                course.rng.bit_generator.state = resumed["drawn"][place]
        for epoch in range(begun, epochs):
            if not any(each.bank.active for each in courses):
                break
            if len(history) == epoch:
                history.append(np.full(count, np.nan))
            for number, course in enumerate(courses):
                if number < first or not course.bank.active:
                    continue
                for step, sentences in enumerate(course.batches(packer, skip), start=skip):
                    if stored.due:
                        stored.keep(state(epoch, number, step))
                    course.bank.step(vectors, sentences)
                    if report is not None and step % 10 == 0:
                        done = epoch + (number + step / len(packer)) / len(courses)
                        share = min(done / min(epochs, CONVERGED), ALMOST)
                        report(share, f"{kind} probes, epoch {epoch + 1}")
                losses = course.bank.mean_loss(dev_vectors, dev_batches)
                history[epoch][course.places] = course.bank.end_epoch(epoch, losses, len(packer))
                first = skip = 0
        if stored.long:
            stored.keep(state(len(history), 0, 0))
    return history


def _precisions(exact: bool) -> tuple[torch.dtype, torch.dtype]:
    """Choose the types of the maps and of a step's two large products.

    With their signs, absolute errors make a step of training from the last bit of a difference: in
    single precision, two processors train other probes on the same vectors. Single precision takes
    half the time, and at 768 dimensions a third where products in bfloat16 are fast; moments,
    distances and development losses stay in the maps' precision.
    """
    if exact:
        return torch.float64, torch.float64
    return torch.float32, torch.bfloat16 if fast_half() else torch.float32


def _at_hand(
    vectors: Float[Tensor, "item layer d_model"], precision: torch.dtype
) -> Float[Tensor, "item layer d_model"]:
    """In the precision of training, where that takes little memory; otherwise every batch is
    converted."""
    small = vectors.numel() * precision.itemsize <= AT_HAND
    return in_precision(vectors, precision) if small else vectors


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
    if dev.vectors.shape[1:] != train.vectors.shape[1:] or dev.targets != train.targets:
        raise ShapeError("Training and development data differ in layers, dimensions or targets.")
    for target in (*train.gold, *dev.gold):
        if target.ndim != (3 if kind == "distance" else 2):
            raise ShapeError(f"Gold of shape {target.shape} does not fit a {kind} probe.")


def _initial(
    probes: Sequence[Probe], shape: tuple[int, int], seed: int
) -> Float[Tensor, "probe rank d_model"]:
    """Maps drawn from U(-.05, .05), each with its own generator; zeros beyond a probe's rank."""
    maps = torch.zeros(len(probes), *shape, dtype=torch.float64)
    for row, probe in enumerate(probes):
        rng = np.random.default_rng((seed, probe.draw, probe.layer, probe.rank))
        maps[row, : probe.rank] = torch.from_numpy(
            rng.uniform(-SPREAD, SPREAD, (probe.rank, shape[1]))
        )
    return maps
