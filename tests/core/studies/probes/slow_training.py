"""Probes trained as the published code does it and no faster: one layer, a sentence at a time,
differences and all.

Hewitt & Manning 2019, appendix A.1, and `regimen.py`. Nothing here is shared with
`core.maths.structural.training`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

Sentence = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Schedule:
    """What the paper sets."""

    epochs: int = 40
    batch: int = 20
    rate: float = 1e-3
    improvement: float = 1e-4
    patience: int = 5


@dataclass(frozen=True)
class Slow:
    """A probe at its best: its map, development losses, and how often its rate was divided."""

    map: np.ndarray
    losses: list[float]
    best_epoch: int
    decays: int


def slow_loss(matrix: Tensor, words: Tensor, gold: Tensor, kind: str) -> Tensor:
    """Mean absolute error over the pairs of a sentence, or over its words."""
    if kind == "depth":
        return (gold - ((words @ matrix.T) ** 2).sum(-1)).abs().sum() / len(words)
    differences = words[:, None, :] - words[None, :, :]
    predicted = ((differences @ matrix.T) ** 2).sum(-1)
    return (gold - predicted).abs().sum() / len(words) ** 2


def train_as_published(
    train: Sequence[Sentence],
    dev: Sequence[Sentence],
    start: np.ndarray,
    kind: str,
    rng: np.random.Generator,
    schedule: Schedule = Schedule(),
) -> Slow:
    """Train B of (rank, d_model) from `start`; `rng` draws the order of sentences anew each
    epoch."""
    matrix = torch.from_numpy(start).float().requires_grad_()
    rate, minimum, kept, best = schedule.rate, float("inf"), matrix.detach().clone(), -1
    optimizer, decays = torch.optim.Adam([matrix], lr=rate), 0
    losses: list[float] = []
    for epoch in range(schedule.epochs):
        order = rng.permutation(len(train)).tolist()
        for first in range(0, len(order), schedule.batch):
            batch = order[first : first + schedule.batch]
            optimizer.zero_grad()
            torch.stack(
                [slow_loss(matrix, *train[index], kind) for index in batch]
            ).mean().backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        with torch.no_grad():
            losses.append(
                float(np.mean([float(slow_loss(matrix, *sentence, kind)) for sentence in dev]))
            )
        if losses[-1] < minimum - schedule.improvement:
            minimum, kept, best = losses[-1], matrix.detach().clone(), epoch
            continue
        rate, decays = rate / 10, decays + 1
        optimizer = torch.optim.Adam([matrix], lr=rate)
        if epoch - best >= schedule.patience:
            break
    return Slow(kept.numpy(), losses, best, decays)
