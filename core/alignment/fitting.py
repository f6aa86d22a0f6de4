"""Gradient training of one small network a layer, all layers side by side, with early stopping a layer.

All layers go through one batched product: the networks' parameters are stacked and `torch.vmap` runs them together,
which at d = 128 takes two thirds of the processor time of one after another (`benchmarks/alignment.py`);
two pairs then train on two cores at once, which they did not one layer after another.
Each layer's network sees its own rows; the loss is the sum over layers of the mean squared error divided by the
target's variance, so that no layer's learning depends on another's. A layer's parameters are those of its best
validation error, and training ends when no layer has improved for `patience` checks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from core.runs.runner import tick


@dataclass(frozen=True)
class Schedule:
    """How a bank is trained. Adam with a linear warm-up and cosine decay."""

    steps: int = 300
    batch: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 1e-4
    check_every: int = 25
    patience: int = 8
    seed: int = 0


@dataclass(frozen=True)
class Curve:
    """Normalised mean squared error at each check: columns of (check, layer), and the step of each check."""

    steps: Float[np.ndarray, " check"]
    training: Float[np.ndarray, "check layer"]
    validation: Float[np.ndarray, "check layer"]


def train_bank(
    bank: nn.ModuleList,
    x: Float[Tensor, "layer row d"],
    y: Float[Tensor, "layer row d"],
    held_x: Float[Tensor, "layer row d"],
    held_y: Float[Tensor, "layer row d"],
    schedule: Schedule,
) -> Curve:
    """Train `bank[layer]` to map `x[layer]` to `y[layer]`, in place; returns the training curves.

    Args:
        bank: One network a layer, all of one shape; each maps rows to rows.
        x, y: Paired training rows, already centred and scaled to a target variance of about 1.
        held_x, held_y: Validation rows, the same way.
    """
    generator = torch.Generator().manual_seed(schedule.seed)
    weights, buffers = stack_module_state(list(bank))
    parameters = [weight for weight in weights.values() if weight.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True)

    def errors_of(rows: Tensor, targets: Tensor) -> Float[Tensor, " layer"]:
        mapped = vmap(lambda w, b, one: functional_call(bank[0], (w, b), (one,)))(weights, buffers, rows)
        return ((mapped - targets) ** 2).mean((1, 2))

    layers, rows = x.shape[:2]
    best = torch.full((layers,), float("inf"))
    kept = {name: weight.detach().clone() for name, weight in weights.items()}
    steps, training, validation = [], [], []
    stale = 0
    running = torch.zeros(layers)
    for step in range(schedule.steps + 1):
        if step % schedule.check_every == 0:
            with torch.no_grad():
                errors = errors_of(held_x, held_y)
            steps.append(step)
            validation.append(errors.numpy().copy())
            training.append((running / schedule.check_every).numpy().copy() if step else np.full(layers, np.nan))
            running.zero_()
            improved = errors < best * (1 - 1e-4)
            stale = 0 if bool(improved.any()) else stale + 1
            best[improved] = errors[improved]
            for name, weight in weights.items():
                kept[name][improved] = weight.detach()[improved]
            tick(step / max(1, schedule.steps))
            if stale >= schedule.patience or step == schedule.steps:
                break
        for group in optimizer.param_groups:
            group["lr"] = _rate(schedule, step)
        chosen = torch.randint(rows, (min(schedule.batch, rows),), generator=generator)
        losses = errors_of(x[:, chosen], y[:, chosen])
        losses.sum().backward()
        torch.nn.utils.clip_grad_norm_(parameters, 10.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        running += losses.detach()
    for layer, network in enumerate(bank):
        network.load_state_dict({name: weight[layer] for name, weight in (kept | buffers).items()})
    return Curve(np.asarray(steps), np.stack(training), np.stack(validation))


def _rate(schedule: Schedule, step: int) -> float:
    warm = min(1.0, (step + 1) / 20)
    return schedule.learning_rate * warm * 0.5 * (1 + float(np.cos(np.pi * step / schedule.steps)))
