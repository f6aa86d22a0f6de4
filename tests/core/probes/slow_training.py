"""The distance probe trained as the paper says and no faster: a sentence at a time, differences and all.

Hewitt & Manning 2019, section 3 and appendix A.1. Nothing here is shared with `core.probes.training`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def slow_loss(matrix: Tensor, words: Tensor, gold: Tensor) -> Tensor:
    """Mean absolute error of squared distances over the pairs of one sentence."""
    differences = words[:, None, :] - words[None, :, :]
    predicted = ((differences @ matrix.T) ** 2).sum(-1)
    return (gold - predicted).abs().sum() / len(words) ** 2


def train_slowly(
    train: Sequence[tuple[Tensor, Tensor]], dev: Sequence[tuple[Tensor, Tensor]], rank: int, seed: int
) -> np.ndarray:
    """B of (rank, d_model), at its best on the development sentences; (vectors, distances) a sentence."""
    generator = torch.Generator().manual_seed(seed)
    matrix = (torch.rand(rank, train[0][0].shape[1], generator=generator) * 2 - 1).mul_(0.05).requires_grad_()
    rate, best, kept, since = 1e-3, float("inf"), matrix.detach().clone(), 0
    optimizer = torch.optim.Adam([matrix], lr=rate)
    for _ in range(40):
        order = torch.randperm(len(train), generator=generator).tolist()
        for start in range(0, len(order), 20):
            batch = order[start : start + 20]
            optimizer.zero_grad()
            torch.stack([slow_loss(matrix, *train[index]) for index in batch]).mean().backward()
            optimizer.step()
        with torch.no_grad():
            loss = float(np.mean([float(slow_loss(matrix, *sentence)) for sentence in dev]))
        if loss < best - 1e-4:
            best, kept, since = loss, matrix.detach().clone(), 0
            continue
        since += 1
        if since >= 5:
            break
        rate /= 10
        optimizer = torch.optim.Adam([matrix], lr=rate)
    return kept.numpy()
