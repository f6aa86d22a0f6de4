"""Networks trained side by side are the networks that each would have become alone, and each trains
until done."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from core.maths import devices
from core.maths.maps import bank as bank_module
from core.maths.maps import fitting
from core.maths.maps.bank import Schedule
from core.maths.maps.fitting import train_bank
from core.maths.seeding import seeded
from tests.cases import exhaustive


def bent_rows(layers: int, rows: int, d: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(layers, rows, d, generator=generator)
    return x, torch.tanh(x @ torch.randn(layers, d, d, generator=generator) / 2)


def small_bank(layers: int, d: int) -> nn.ModuleList:
    with seeded(0):
        return nn.ModuleList(
            [nn.Sequential(nn.Linear(d, 16), nn.GELU(), nn.Linear(16, d)) for _ in range(layers)]
        )


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("noise", exhaustive([0.0, 0.3], 0.3))
def test_a_bank_trains_as_each_of_its_networks_would_alone(noise: float) -> None:
    """Also when the others have converged and left: the steps go on until the last has, not the
    first."""
    layers, d = 3, 6
    x, y = bent_rows(layers, 120, d)
    y[0] = x[0]  # easily learnt: this one leaves at another time
    bank = small_bank(layers, d)
    alone = [nn.ModuleList([copy.deepcopy(network)]) for network in bank]
    schedule = Schedule(
        steps=400, batch=32, learning_rate=1e-2, check_every=20, patience=2, noise=noise
    )
    together = train_bank(bank, x[:, :100], y[:, :100], x[:, 100:], y[:, 100:], schedule)
    for layer, single in enumerate(alone):
        own = slice(layer, layer + 1)
        curve = train_bank(single, x[own, :100], y[own, :100], x[own, 100:], y[own, 100:], schedule)
        seen = together.validation[:, layer][~np.isnan(together.validation[:, layer])]
        common = min(
            len(seen), len(curve.steps)
        )  # rounding may let the last few checks end one of the two later
        np.testing.assert_allclose(
            curve.validation[:common, 0], seen[:common], rtol=2e-2, atol=1e-4
        )
        assert curve.converged[0] == together.converged[layer]
    last = (~np.isnan(together.validation)).sum(0)  # checks that each took part in
    assert last.min() < last.max() == len(together.steps)
    assert (np.nanmin(together.validation, 0) < 0.7 * together.validation[0]).all()
    assert np.isnan(together.training[0]).all()


@pytest.mark.slow
def test_portions_train_as_one_bank_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory has a bound, and neither the maps nor the curves depend on it."""
    layers, d = 5, 6
    x, y = bent_rows(layers, 120, d)
    y[0] = x[0]
    bank, apart = small_bank(layers, d), small_bank(layers, d)
    schedule = Schedule(
        steps=200, batch=32, learning_rate=1e-2, check_every=20, patience=2, noise=0.3
    )
    rows = (x[:, :100], y[:, :100], x[:, 100:], y[:, 100:])
    together = train_bank(bank, *rows, schedule)
    sizes: list[int] = []
    whole = fitting.Bank

    def counted(networks: nn.ModuleList, schedule: Schedule) -> object:
        sizes.append(len(networks))
        return whole(networks, schedule)

    monkeypatch.setattr(fitting, "Bank", counted)
    one = sum(tensor.nbytes for tensor in bank[0].state_dict().values())
    monkeypatch.setattr(fitting, "PORTION", 2 * one)
    shares: list[float] = []
    monkeypatch.setattr(fitting, "tick", shares.append)
    curve = train_bank(apart, *rows, schedule)
    assert sizes == [2, 2, 1]
    assert shares == sorted(shares)
    assert shares[-1] <= 1
    assert curve.validation.shape == together.validation.shape
    np.testing.assert_allclose(curve.validation, together.validation, rtol=2e-2, atol=1e-4)
    assert curve.converged.tolist() == together.converged.tolist()
    for mapped, same in zip(apart, bank, strict=True):
        torch.testing.assert_close(mapped(x[1]), same(x[1]), rtol=2e-2, atol=1e-2)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_training_goes_on_until_nothing_improves_and_says_so() -> None:
    x, y = bent_rows(1, 300, 4)
    parts = x[:, :200], y[:, :200], x[:, 200:], y[:, 200:]
    long = train_bank(
        small_bank(1, 4),
        *parts,
        Schedule(steps=4000, learning_rate=1e-2, check_every=20, patience=3),
    )
    short = train_bank(
        small_bank(1, 4), *parts, Schedule(steps=40, learning_rate=1e-2, check_every=20, patience=3)
    )
    assert long.converged.all()
    assert long.steps[-1] < 4000
    assert not short.converged.any()
    assert np.nanmin(long.validation) < 0.5 * np.nanmin(short.validation)


def test_the_parameters_of_the_best_check_are_kept() -> None:
    """Validation rows that training leads away from: the network is the one of the first check."""
    x = torch.randn(1, 50, 4, generator=torch.Generator().manual_seed(1))
    bank = nn.ModuleList([nn.Linear(4, 4)])
    nn.init.zeros_(bank[0].weight)
    nn.init.zeros_(bank[0].bias)
    curve = train_bank(bank, x, x, x, -x, Schedule(steps=500, check_every=5, patience=3, rates=1))
    assert len(curve.steps) == 4
    assert not bank[0].weight.any()


@pytest.mark.parametrize(
    ("flags", "narrow", "wide"),
    [
        ("avx512_bf16 amx_bf16 amx_tile", True, True),
        ("avx2 avx512_bf16", False, True),
        ("avx2", False, False),
    ],
)
def test_bfloat16_is_used_where_the_processor_has_units_for_it(
    flags: str, narrow: bool, wide: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags : {flags}\n")
    monkeypatch.setattr(devices, "PROCESSOR", tmp_path / "cpuinfo")
    devices.processor_flags.cache_clear()
    try:
        found = bank_module.fast_bfloat16(128), bank_module.fast_bfloat16(bank_module.WIDE)
        assert found == (narrow, wide)
        x, y = bent_rows(2, 200, 4)
        bank = small_bank(2, 4)
        curve = train_bank(
            bank,
            x[:, :150],
            y[:, :150],
            x[:, 150:],
            y[:, 150:],
            Schedule(steps=100, learning_rate=1e-2),
        )
        assert (curve.validation[-1] < curve.validation[0]).all()
        assert all(parameter.dtype == torch.float32 for parameter in bank.parameters())
    finally:
        devices.processor_flags.cache_clear()


def test_a_step_is_adam_with_decoupled_decay_at_each_networks_rate() -> None:
    bank = bank_module.Bank(small_bank(2, 3), Schedule(learning_rate=0.1, weight_decay=0.2))
    bank.rate = torch.tensor([0.1, 0.025])
    rows = torch.randn(2, 8, 3, generator=torch.Generator().manual_seed(3))
    weights = {name: weight.detach().clone() for name, weight in bank.weights.items()}
    first = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    second = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    (ahead, behind), warm_up = bank_module.BETAS, bank_module.WARM_UP
    for number in range(warm_up + 5):
        losses = bank.errors(rows, torch.ones_like(rows))
        gradients = torch.autograd.grad(
            losses.sum(), list(bank.weights.values()), retain_graph=True
        )
        rate = min(1.0, (number + 1) / warm_up) * bank.rate
        for name, gradient in zip(weights, gradients, strict=True):
            first[name] = ahead * first[name] + (1 - ahead) * gradient
            second[name] = behind * second[name] + (1 - behind) * gradient**2
            change = (first[name] / (1 - ahead ** (number + 1))) / (
                (second[name] / (1 - behind ** (number + 1))).sqrt() + bank_module.EPSILON
            )
            each = rate.view(-1, *[1] * (gradient.ndim - 1))
            weights[name] = weights[name] * (1 - 0.2 * each) - each * change
        bank.step(losses, number)
    for name, weight in weights.items():
        torch.testing.assert_close(bank.weights[name].detach(), weight, rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(bank.first[name], first[name], rtol=1e-3, atol=1e-6)
