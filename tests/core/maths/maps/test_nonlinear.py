"""Trained maps: exact inverses, never worse than their closed-form start, and better where the
truth is bent."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.errors import ShapeError
from core.maths.maps.bank import Schedule
from core.maths.maps.coupling import coupling_network
from core.maths.maps.linear import Ols, Procrustes, Ridge
from core.maths.maps.nonlinear import Inn, Mlp

QUICK = Schedule(steps=30, batch=64, check_every=10)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def mse(aligner, x: np.ndarray, y: np.ndarray) -> float:
    return float(((aligner.transform(x) - y) ** 2).mean())


def bend(x: np.ndarray, blocks: int, gain: float = 3.0) -> np.ndarray:
    """Rows through a random coupling network with large weights: a bijection that no linear map
    undoes."""
    network = coupling_network(x.shape[1], blocks, 32, seed=5, zero=False).double()
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.requires_grad:
                parameter.mul_(gain)
        return network(torch.from_numpy(x), jac=False)[0].numpy()


def test_untrained_networks_are_their_closed_forms(rng) -> None:
    x, y = rng.normal(size=(200, 6)), rng.normal(size=(200, 6))
    nothing = Schedule(steps=0)
    inn, mlp = Inn(2, 8, nothing).fit(x, y, (x, y)), Mlp(8, nothing).fit(x, y, (x, y))
    np.testing.assert_allclose(
        inn.transform(x), Procrustes(scale=True).fit(x, y).transform(x), atol=1e-5
    )
    np.testing.assert_allclose(mlp.transform(x), Ridge().fit(x, y, (x, y)).transform(x), atol=1e-5)


def test_layers_trained_side_by_side_keep_their_best_and_invert(rng) -> None:
    x = rng.normal(size=(2, 300, 6))
    y = np.stack([bend(x[0], 1), x[1] @ np.linalg.qr(rng.normal(size=(6, 6)))[0]])
    inn = Inn(2, 16, QUICK).fit(x[:, :240], y[:, :240], (x[:, 240:], y[:, 240:]))
    start = Procrustes(scale=True).fit(x[:, :240], y[:, :240])
    for layer in range(2):
        kept = ((inn.transform(x)[layer, 240:] - y[layer, 240:]) ** 2).mean()
        assert kept <= ((start.transform(x)[layer, 240:] - y[layer, 240:]) ** 2).mean() + 1e-6
    np.testing.assert_allclose(inn.inverse_transform(inn.transform(x)), x, atol=1e-4)
    assert inn.curve is not None
    assert inn.curve.validation.shape == (len(inn.curve.steps), 2)
    assert np.isnan(inn.curve.training[0]).all()


def test_the_error_in_training_is_that_of_the_whole_network(rng) -> None:
    """The last rotation is left out of training, and the targets are turned in its place."""
    x, y = (rng.normal(size=(1, 60, 6)) for _ in range(2))
    inn = Inn(2, 8, Schedule(steps=10, check_every=5, batch=16)).fit(x, y, (x, y))
    assert inn.curve is not None
    best = np.nanmin(inn.curve.validation)
    error = ((inn.transform(x) - y) ** 2).mean() / y.var(1).mean()
    assert error == pytest.approx(best, rel=2e-3)


@pytest.mark.slow
def test_random_weights_are_those_of_the_layers_number_in_the_study(rng) -> None:
    x, y = (rng.normal(size=(3, 60, 6)) for _ in range(2))
    whole = Inn(2, 8, QUICK).fit(x, y, (x, y)).transform(x)
    one = Inn(2, 8, QUICK)
    one.numbers = (2,)
    alone = one.fit(x[2:], y[2:], (x[2:], y[2:])).transform(x[2:])
    np.testing.assert_allclose(alone[0], whole[2], atol=1e-4)


@pytest.mark.slow
def test_training_is_a_function_of_the_seed(rng) -> None:
    x = rng.normal(size=(200, 6))
    y = bend(x, 1)
    first, again = (Inn(2, 16, QUICK).fit(x, y, (x, y)).transform(x) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_a_planted_bijection_is_undone_better_than_by_least_squares_and_exactly_invertible(
    rng,
) -> None:
    x = rng.normal(size=(1500, 8))
    y = bend(x, 2)
    train, held, test = slice(0, 1125), slice(1125, 1275), slice(1275, 1500)
    inn = Inn(2, 32, Schedule(steps=600, learning_rate=4e-3, check_every=50)).fit(
        x[train], y[train], (x[held], y[held])
    )
    ols = Ols().fit(x[train], y[train])
    assert mse(inn, x[test], y[test]) * 2 < mse(ols, x[test], y[test])
    np.testing.assert_allclose(inn.inverse_transform(inn.transform(x[test])), x[test], atol=1e-4)


@pytest.mark.slow
def test_a_space_against_itself_is_found_by_the_network(rng) -> None:
    x = rng.normal(size=(600, 16)) * np.linspace(1, 3, 16)
    inn = Inn(2, 32, QUICK).fit(x, x, (x, x))
    assert mse(inn, x, x) / x.var(0).mean() < 1e-2


def test_one_dimension_cannot_be_split(rng) -> None:
    with pytest.raises(ShapeError, match="two dimensions"):
        Inn(2, 8, QUICK).fit(rng.normal(size=(50, 1)), rng.normal(size=(50, 1)))


def test_different_widths(rng) -> None:
    x, y = rng.normal(size=(100, 6)), rng.normal(size=(100, 4))
    with pytest.raises(ShapeError, match="equal width"):
        Inn(2, 8, QUICK).fit(x, y)
    assert Mlp(8, QUICK).fit(x, y).transform(x).shape == (100, 4)
