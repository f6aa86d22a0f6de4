"""Gradient training of many small networks at once, one per map, each until it has converged.

All layers and both directions of a pair of models form one bank: their parameters are stacked and
`torch.vmap` runs them in one batched product. Each network sees its own rows and has its own
learning rate; the loss is the sum over networks of the mean squared error divided by the target's
variance. No network's training depends on another's: each ends with the weights that it would have
if it were trained alone.

A network has converged when it has stopped improving on the validation rows at three learning
rates: after `patience` checks in a row without improvement it returns to its best parameters and
continues at a quarter of the rate; after the last rate it leaves the bank, so that later steps cost
less.

Reference: Kingma & Ba 2015 (Adam), Loshchilov & Hutter 2019 (decoupled weight decay). Deviations:
none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from core.alignment.maps.curves import Checks, Curve, joined
from core.runs.runner import checkpoint, tick
from core.runs.store import Value

IMPROVED = 1e-3  # relative decrease of the error below which a check counts as no improvement
WARM_UP = 20  # steps over which the rate rises to its first value
BETAS, EPSILON = (0.9, 0.999), 1e-8
# Bytes of the networks that are trained at once; their gradients, moments and best parameters take
# six times as much.
PORTION = 64 * 2**20
FORM = "alignment.bank/1"  # version of the checkpoint; raise it when `_Bank.state` changes
PROCESSOR = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Schedule:
    """How a bank is trained.

    Attributes:
        steps: Largest number of steps; training ends earlier when every network has converged.
        batch: Rows per step.
        learning_rate: The first rate.
        weight_decay: Decoupled, in units of the rate.
        check_every: Steps between two evaluations on the validation rows.
        patience: Checks without improvement after which a network's rate falls.
        rates: How many rates, each a quarter of the previous one.
        noise: Standard deviation of the noise added to the training rows, in units of the target's
            spread; it falls with the rate. Without noise, fewer than 3,000 rows of 1,000 words are
            soon memorised.
        seed: Of the batches and the noise.
    """

    steps: int = 4000
    batch: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    check_every: int = 25
    patience: int = 4
    rates: int = 3
    noise: float = 0.0
    seed: int = 0


STATE = ("places", "rate", "best", "stale", "left", "running")
MOMENTS = ("first", "second", "kept")


class _Bank:
    """The stacked parameters, moments and learning rates of the networks still in training."""

    def __init__(self, networks: nn.ModuleList, schedule: Schedule) -> None:
        stacked, buffers = stack_module_state(list(networks))
        self.model, self.schedule = networks[0], schedule
        weights = {name: weight for name, weight in stacked.items() if weight.requires_grad}
        self.fixed = buffers | {
            name: weight for name, weight in stacked.items() if not weight.requires_grad
        }
        self.weights = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
        self.first, self.second = (
            {name: torch.zeros_like(w) for name, w in weights.items()} for _ in range(2)
        )
        self.count = count = len(networks)
        self.places = torch.arange(count)  # of each network in the whole bank
        self.rate = torch.full((count,), schedule.learning_rate, dtype=torch.float32)
        self.best = torch.full((count,), float("inf"), dtype=torch.float32)
        self.stale = torch.zeros(count, dtype=torch.long)
        self.left = torch.full((count,), schedule.rates)
        self.running = torch.zeros(count, dtype=torch.float32)
        self.kept = {name: weight.detach().clone() for name, weight in weights.items()}
        self.done = {
            name: weight.detach().clone() for name, weight in weights.items()
        }  # of the whole bank

    def errors(self, rows: Tensor, targets: Tensor) -> Float[Tensor, " network"]:
        """Compute the mean squared error of each network on its rows."""

        def apply(
            weights: dict[str, Tensor], fixed: dict[str, Tensor], layer_rows: Tensor
        ) -> Tensor:
            mapped: Tensor = functional_call(self.model, (weights, fixed), (layer_rows,))
            return mapped

        with torch.autocast("cpu", torch.bfloat16, enabled=fast_bfloat16()):
            mapped = vmap(apply)(self.weights, self.fixed, rows)
        return ((mapped.float() - targets) ** 2).mean((1, 2))

    def step(self, losses: Tensor, number: int) -> None:
        """Take one step of Adam for all networks, each at its learning rate."""
        names = list(self.weights)
        gradients = torch.autograd.grad(losses.sum(), [self.weights[name] for name in names])
        ahead, behind = BETAS
        warm = min(1.0, (number + 1) / WARM_UP)
        correct = (1 - behind ** (number + 1)) ** 0.5
        with torch.no_grad():
            for name, gradient in zip(names, gradients, strict=True):
                weight = self.weights[name]
                rate = (warm * self.rate).view(-1, *[1] * (weight.ndim - 1))
                first = self.first[name].lerp_(gradient, 1 - ahead)
                second = (
                    self.second[name].mul_(behind).addcmul_(gradient, gradient, value=1 - behind)
                )
                change = first / second.sqrt().div_(correct).add_(EPSILON)
                weight.mul_(1 - rate * self.schedule.weight_decay)
                weight.sub_(change.mul_(rate / (1 - ahead ** (number + 1))))
            self.running += losses.detach()

    def check(self, errors: Tensor) -> None:
        """Keep parameters that improved, lower the rates of networks that have not, remove
        converged networks."""
        improved = errors < self.best * (1 - IMPROVED)
        self.best = torch.where(improved, errors, self.best)
        self.stale = torch.where(improved, 0, self.stale + 1)
        tired = self.stale >= self.schedule.patience
        self.stale[tired] = 0
        self.left[tired] -= 1
        self.rate[tired] /= 4
        for name, weight in self.weights.items():
            self.kept[name][improved] = weight.detach()[improved]
            weight.data[tired] = self.kept[name][tired]
        self.running.zero_()
        if bool((self.left <= 0).any()):
            self._leave(self.left > 0)

    def _leave(self, stay: Tensor) -> None:
        self.settle()
        for name, weight in self.weights.items():
            self.weights[name] = weight.detach()[stay].requires_grad_()
            for state in (self.first, self.second, self.kept):
                state[name] = state[name][stay]
        self.fixed = {name: tensor[stay] for name, tensor in self.fixed.items()}
        for name in ("places", "rate", "best", "stale", "left", "running"):
            setattr(self, name, getattr(self, name)[stay])

    def state(self) -> Value:
        """Return everything needed to resume training; of converged networks, their best
        parameters."""
        gone = self._gone()
        kept = {name: getattr(self, name).numpy() for name in STATE}
        for name, weight in self.weights.items():
            kept |= {
                f"weights/{name}": weight.detach().numpy(),
                f"done/{name}": self.done[name][gone].numpy(),
            }
            for part in MOMENTS:
                kept[f"{part}/{name}"] = getattr(self, part)[name].numpy()
        return kept

    def restore(self, state: Value) -> None:
        """Resume from what `state` returned, in a new bank of the same networks."""
        for name in STATE:  # copied, so that torch allocates memory as in an uninterrupted run
            setattr(self, name, torch.tensor(state[name]))
        gone = self._gone()
        for name in self.weights:
            self.weights[name] = torch.tensor(state[f"weights/{name}"]).requires_grad_()
            self.done[name][gone] = torch.tensor(state[f"done/{name}"])
            for part in MOMENTS:
                getattr(self, part)[name] = torch.tensor(state[f"{part}/{name}"])
        self.fixed = {name: tensor[self.places] for name, tensor in self.fixed.items()}

    def _gone(self) -> Tensor:
        gone = torch.ones(self.count, dtype=torch.bool)
        gone[self.places] = False
        return gone

    def settle(self) -> None:
        """Copy the best parameters of the networks in training into those of the whole bank."""
        for name, weight in self.kept.items():
            self.done[name][self.places] = weight


def train_bank(
    networks: nn.ModuleList,
    x: Float[Tensor, "network row d"],
    y: Float[Tensor, "network row d"],
    held_x: Float[Tensor, "network row d"],
    held_y: Float[Tensor, "network row d"],
    schedule: Schedule,
) -> Curve:
    """Train `networks[n]` in place to map `x[n]` to `y[n]`, and return the training curves.

    A run saves a checkpoint of the training at intervals and resumes from it. Networks whose
    parameters exceed `PORTION` are trained a portion after the other, each as in one bank.

    Args:
        networks: All of one shape; each maps rows to rows.
        x, y: Paired training rows, already centred and scaled to a target variance of about 1.
        held_x, held_y: Validation rows, prepared in the same way.
        schedule: Rates, batches and stopping.

    Example:
        >>> rows = torch.eye(4)[None]
        >>> curve = train_bank(nn.ModuleList([nn.Linear(4, 4)]), rows, -rows, rows, -rows,
        ...     Schedule(steps=500))
        >>> bool(curve.validation[-1, 0] < 0.1 * curve.validation[0, 0])
        True
    """
    size = sum(tensor.nbytes for tensor in networks[0].state_dict().values())
    at_once, count = max(1, PORTION // max(size, 1)), len(networks)
    curves = []
    for start in range(0, count, at_once):
        part = slice(start, min(start + at_once, count))

        def report(share: float, part: slice = part) -> None:
            tick((part.start + share * (part.stop - part.start)) / count)

        rows = (x[part], y[part], held_x[part], held_y[part])
        curves.append(_train_portion(networks[part], *rows, schedule, report))
    return joined(curves)


def _train_portion(
    networks: nn.ModuleList,
    x: Tensor,
    y: Tensor,
    held_x: Tensor,
    held_y: Tensor,
    schedule: Schedule,
    report: Callable[[float], None],
) -> Curve:
    """Train a portion of the networks as one bank, from the schedule's seed.

    `report` is told the share that has converged; other arguments as for `train_bank`.
    """
    generator = torch.Generator().manual_seed(schedule.seed)
    bank, checks = _Bank(networks, schedule), Checks()
    count, rows = x.shape[:2]
    kept, begun = checkpoint(FORM), 0
    if (resumed := kept.find()) is not None:
        bank.restore(resumed)
        generator.set_state(torch.tensor(resumed["generator"]))
        checks.restore(resumed)
        begun = int(checks.steps[-1])

    def state() -> Value:
        return bank.state() | checks.curves() | {"generator": generator.get_state().numpy()}

    for step in range(begun, schedule.steps + 1):
        if step % schedule.check_every == 0 and not (checks.steps and step == begun):
            places = bank.places
            with torch.no_grad():
                errors = bank.errors(held_x[places], held_y[places])
            seen = torch.full((2, count), float("nan"), dtype=torch.float32)
            seen[1, places] = errors
            if step:
                seen[0, places] = bank.running / schedule.check_every
            checks.add(step, *seen)
            bank.check(errors)
            report(1 - float(bank.left.sum()) / (count * schedule.rates))
            if kept.due:
                kept.keep(state())
        if not len(bank.places) or checks.steps[-1] == schedule.steps:
            break
        chosen = torch.randint(rows, (min(schedule.batch, rows),), generator=generator)
        drawn, targets = (rows_of[bank.places[:, None], chosen] for rows_of in (x, y))
        if schedule.noise:
            falling = schedule.noise * (bank.rate / schedule.learning_rate)[:, None, None]
            drawn = drawn + falling * torch.randn(
                drawn.shape[1:], dtype=torch.float32, generator=generator
            )
        bank.step(bank.errors(drawn, targets), step)
    if kept.long:
        kept.keep(state())
    converged = np.ones(count, dtype=bool)
    converged[bank.places.numpy()] = False
    bank.settle()
    for number, network in enumerate(networks):
        network.load_state_dict(
            {name: weight[number] for name, weight in bank.done.items()}, strict=False
        )
    return Curve(**checks.curves(), converged=converged)


@cache
def fast_bfloat16() -> bool:
    """Whether this processor has matrix units for bfloat16 (AMX), which are many times faster.

    Without them bfloat16 is hardly faster or even slower, and less exact.

    Example:
        >>> isinstance(fast_bfloat16(), bool)
        True
    """
    try:
        return "amx_bf16" in PROCESSOR.read_text()
    except OSError:  # not Linux
        return False
