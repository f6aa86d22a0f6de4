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
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.maths.arrays import Value
from core.maths.maps.bank import Bank, Schedule
from core.maths.progress import checkpoint, tick

# Bytes of the networks that are trained at once; their gradients, moments and best parameters take
# six times as much.
PORTION = 64 * 2**20
FORM = "alignment.bank/3"  # of the checkpoint; raised when `Bank.state` or a network changes


@dataclass(frozen=True)
class Curve:
    """Normalised mean squared error at each check: (check, network), NaN once a network has
    converged; steps (check,).

    `converged` (network,) marks the networks that converged before the schedule's last step.
    """

    steps: Float[np.ndarray, " check"]
    training: Float[np.ndarray, "check network"]
    validation: Float[np.ndarray, "check network"]
    converged: Float[np.ndarray, " network"]


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
    bank, (count, rows) = Bank(networks, schedule), x.shape[:2]
    checks: dict[str, list[Any]] = {"steps": [], "training": [], "validation": []}
    stored, begun = checkpoint(FORM), 0
    if (resumed := stored.find()) is not None:
        bank.restore(resumed)
        generator.set_state(torch.tensor(resumed["generator"]))
        checks = {name: list(resumed[name]) for name in checks}
        begun = int(checks["steps"][-1])

    def curves() -> dict[str, np.ndarray]:
        return {name: np.array(values) for name, values in checks.items()}

    def state() -> Value:
        return bank.state() | curves() | {"generator": generator.get_state().numpy()}

    for step in range(begun, schedule.steps + 1):
        if step % schedule.check_every == 0 and not (checks["steps"] and step == begun):
            places = bank.places
            with torch.no_grad():
                errors = bank.errors(held_x[places], held_y[places])
            seen = torch.full((2, count), float("nan"), dtype=torch.float32)
            seen[1, places] = errors
            if step:
                seen[0, places] = bank.running / schedule.check_every
            for name, values in zip(checks, (step, *seen.numpy()), strict=True):
                checks[name].append(values)
            bank.check(errors)
            report(1 - float(bank.left.sum()) / (count * schedule.rates))
            if stored.due:
                stored.keep(state())
        if not len(bank.places) or checks["steps"][-1] == schedule.steps:
            break
        sample = torch.randint(rows, (min(schedule.batch, rows),), generator=generator)
        drawn, targets = (rows_of[bank.places[:, None], sample] for rows_of in (x, y))
        if schedule.noise:
            falling = schedule.noise * (bank.rate / schedule.learning_rate)[:, None, None]
            drawn = drawn + falling * torch.randn(
                drawn.shape[1:], dtype=torch.float32, generator=generator
            )
        bank.step(bank.errors(drawn, targets), step)
    if stored.long:
        stored.keep(state())
    converged = np.ones(count, dtype=bool)
    converged[bank.places.numpy()] = False
    bank.settle()
    for number, network in enumerate(networks):
        network.load_state_dict(
            {name: weight[number] for name, weight in bank.done.items()}, strict=False
        )
    return Curve(**curves(), converged=converged)


def joined(curves: Sequence[Curve]) -> Curve:
    """Join the curves of portions; one that ended earlier is NaN at the later checks.

    Example:
        >>> once = Curve(np.array([0]), np.ones((1, 1)), np.ones((1, 1)), np.array([True]))
        >>> twice = Curve(np.array([0, 5]), np.ones((2, 1)), np.ones((2, 1)), np.array([True]))
        >>> joined([once, twice]).validation.tolist()
        [[1.0, 1.0], [nan, 1.0]]
    """
    longest = max(curves, key=lambda curve: len(curve.steps))

    def filled(values: np.ndarray) -> np.ndarray:
        missing = len(longest.steps) - len(values)
        return np.pad(values, ((0, missing), (0, 0)), constant_values=np.nan)

    return Curve(
        steps=longest.steps,
        training=np.concatenate([filled(curve.training) for curve in curves], axis=1),
        validation=np.concatenate([filled(curve.validation) for curve in curves], axis=1),
        converged=np.concatenate([curve.converged for curve in curves]),
    )
