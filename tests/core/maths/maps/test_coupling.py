"""Coupling networks: exact inverses, and many at once equal to each by itself, with its gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state

from core.errors import ShapeError
from core.maths.maps import bank as bank_module
from core.maths.maps import coupling
from core.maths.maps.bank import Bank, Schedule, Stackable
from core.maths.maps.coupling import Turn, Unturned, coupling_network, sets_of, turned
from core.maths.maps.nonlinear import Mlp


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(params=["dense", "in sets"])
def wide(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether spaces of more than four dimensions have rotations in sets of four at most."""
    if request.param == "in sets":
        monkeypatch.setattr(coupling, "BLOCK", 4)
    return bool(request.param == "in sets")


def test_a_coupling_network_starts_as_the_identity_and_inverts_exactly(rng, wide: bool) -> None:
    rows = torch.from_numpy(rng.normal(size=(50, 8)))
    same = coupling_network(8, 3, 16, seed=1).double()(rows, jac=False)[0]
    torch.testing.assert_close(same, rows, atol=1e-5, rtol=0)  # the bases are rotations in float32
    bent = coupling_network(8, 3, 16, seed=1, zero=False).double()
    there = bent(rows, jac=False)[0]
    assert (there - rows).abs().max() > 0.05
    torch.testing.assert_close(bent(there, rev=True, jac=False)[0], rows, atol=1e-5, rtol=0)
    assert any(isinstance(step, Turn) for step in bent.module_list) == wide


def test_dimensions_are_dealt_out_and_every_set_is_rotated(rng) -> None:
    rows = torch.from_numpy(rng.normal(size=(2, 5, 12)))
    rotations = torch.linalg.qr(torch.from_numpy(rng.normal(size=(2, 3, 4, 4))))[0]
    found = turned(rows, rotations)
    for network in range(2):
        for row in range(5):
            sets = [
                rows[network, row, number::3] @ rotations[network, number] for number in range(3)
            ]
            torch.testing.assert_close(found[network, row], torch.cat(sets))


def test_after_two_turns_every_dimension_depends_on_every_other(rng) -> None:
    rotations = torch.linalg.qr(torch.from_numpy(rng.normal(size=(1, 6, 128, 128))))[0]
    both = turned(turned(torch.eye(768, dtype=torch.float64)[None], rotations), rotations)[0]
    assert int((both.abs() > 1e-12).sum()) == 768**2
    torch.testing.assert_close(both @ both.T, torch.eye(768, dtype=torch.float64))


@pytest.mark.parametrize(("d", "sets"), [(2, 1), (128, 1), (130, 2), (131, 1), (312, 3), (1024, 8)])
def test_a_space_is_rotated_in_few_large_sets(d: int, sets: int) -> None:
    assert sets_of(d) == sets


def test_one_dimension_cannot_be_split() -> None:
    with pytest.raises(ShapeError, match="two dimensions"):
        coupling_network(1, 2, 8, seed=0)


def shaken(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """The network with random weights where training has its say."""
    for weight in network.parameters():
        if weight.requires_grad:
            weight.data = 0.5 * torch.randn(weight.shape, generator=generator)
    return network.double()


def networks(kind: str) -> list[nn.Module]:
    generator = torch.Generator().manual_seed(0)
    if kind == "mlp":
        made = [Mlp(16)._network(9, seed) for seed in range(3)]
    else:
        made = [Unturned(coupling_network(9, 2, 8, seed)) for seed in range(3)]
    return [shaken(network, generator) for network in made]


@pytest.mark.parametrize("kind", ["inn", "mlp"])
def test_many_at_once_are_each_by_itself_with_its_gradient(kind: str, wide: bool) -> None:
    bank = networks(kind)
    rows = torch.randn(3, 20, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    targets = torch.tanh(rows)
    stacked, buffers = stack_module_state(bank)
    weights = {name: w.detach().requires_grad_(w.requires_grad) for name, w in stacked.items()}
    first = bank[0]
    assert isinstance(first, Stackable)
    together = first.stacked(weights | buffers, rows)
    trained = {name: w for name, w in weights.items() if w.requires_grad}
    loss = ((together - targets) ** 2).sum()
    found = dict(zip(trained, torch.autograd.grad(loss, list(trained.values())), strict=True))
    for number, network in enumerate(bank):
        alone = functional_call(network, {}, (rows[number],))
        torch.testing.assert_close(together[number], alone)
        own = {name: w for name, w in network.named_parameters() if w.requires_grad}
        error = ((alone - targets[number]) ** 2).sum()
        for name, gradient in zip(own, torch.autograd.grad(error, list(own.values())), strict=True):
            torch.testing.assert_close(found[name][number], gradient, rtol=1e-4, atol=1e-4)


def test_a_bank_computes_them_as_vmap_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.maths.maps.bank.fast_bfloat16", lambda width: False)
    generator = torch.Generator().manual_seed(2)
    bank = Bank(
        nn.ModuleList([shaken(network, generator).float() for network in networks("inn")]),
        Schedule(),
    )
    rows = torch.randn(3, 20, 9, generator=generator)
    fast = bank.errors(rows, torch.zeros_like(rows))
    plain = nn.Sequential()  # no Stackable, so vmap computes it
    plain.forward = bank.model.forward  # type: ignore[method-assign]
    plain.steps = bank.model.steps
    bank.model = plain
    torch.testing.assert_close(fast, bank.errors(rows, torch.zeros_like(rows)))


def test_without_its_last_rotation_a_network_keeps_every_distance(rng, wide: bool) -> None:
    rows, targets = (torch.from_numpy(rng.normal(size=(30, 6))).float() for _ in range(2))
    network = coupling_network(6, 2, 8, seed=3, zero=False)
    whole = network(rows, jac=False)[0]
    turned = targets @ network.module_list[-1].M_inv
    torch.testing.assert_close(
        (whole - targets).norm(dim=1), (Unturned(network)(rows) - turned).norm(dim=1)
    )


@pytest.mark.parametrize("kind", ["inn", "mlp"])
def test_products_in_bfloat16_move_errors_and_gradients_by_its_rounding(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = nn.ModuleList([network.float() for network in networks(kind)])
    bank = Bank(made, Schedule())
    rows = torch.randn(3, 20, 9, generator=torch.Generator().manual_seed(4))
    found = {}
    for fast in (False, True):
        monkeypatch.setattr(bank_module, "fast_bfloat16", lambda width, fast=fast: fast)
        errors = bank.errors(rows, torch.tanh(rows))
        assert errors.dtype == torch.float32
        found[fast] = errors, torch.autograd.grad(errors.sum(), list(bank.weights.values()))
    torch.testing.assert_close(found[True][0], found[False][0], rtol=0.05, atol=0.01)
    for less, more in zip(found[True][1], found[False][1], strict=True):
        assert less.dtype == torch.float32
        assert float((less - more).norm() / more.norm()) < 0.05
