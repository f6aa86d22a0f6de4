"""Networks trained side by side are the networks that each would have become alone."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import nn

from core.alignment.fitting import Schedule, train_bank
from core.models.making import seeded


def test_a_bank_trains_as_each_of_its_networks_would_alone() -> None:
    layers, rows, d = 3, 120, 6
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(layers, rows, d, generator=generator)
    y = torch.tanh(x @ torch.randn(layers, d, d, generator=generator) / 2)
    with seeded(0):
        bank = nn.ModuleList([nn.Sequential(nn.Linear(d, 16), nn.GELU(), nn.Linear(16, d)) for _ in range(layers)])
    alone = [nn.ModuleList([copy.deepcopy(network)]) for network in bank]
    schedule = Schedule(steps=200, batch=32, check_every=20, patience=100)
    together = train_bank(bank, x[:, :100], y[:, :100], x[:, 100:], y[:, 100:], schedule)
    for layer, single in enumerate(alone):
        own = slice(layer, layer + 1)
        curve = train_bank(single, x[own, :100], y[own, :100], x[own, 100:], y[own, 100:], schedule)
        np.testing.assert_allclose(curve.validation[:, 0], together.validation[:, layer], rtol=1e-4)
        for one, other in zip(single[0].parameters(), bank[layer].parameters(), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-5)
    assert (together.validation[-1] < 0.7 * together.validation[0]).all()
    assert np.isnan(together.training[0]).all()
    assert np.isfinite(together.training[1:]).all()


def test_the_parameters_of_the_best_check_are_kept() -> None:
    """Validation rows that training leads away from: the network is the one of the first check."""
    x = torch.randn(1, 50, 4, generator=torch.Generator().manual_seed(1))
    bank = nn.ModuleList([nn.Linear(4, 4)])
    nn.init.zeros_(bank[0].weight)
    nn.init.zeros_(bank[0].bias)
    curve = train_bank(bank, x, x, x, -x, Schedule(steps=500, check_every=5, patience=3))
    assert len(curve.steps) == 4
    assert not bank[0].weight.any()
