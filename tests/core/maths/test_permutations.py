"""Matching of units and heads, and the barrier, against planted orders and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.permutations import (
    calc_barrier,
    correlations,
    excess_of,
    match_heads,
    match_units,
)

RNG = np.random.default_rng(0)


def test_correlations_are_numpy_s_and_0_for_a_constant_unit() -> None:
    x, y = RNG.normal(size=(2, 50, 4))
    y[:, 3] = 7.0
    found = correlations(x, y)
    assert found[:, :3] == pytest.approx(np.corrcoef(x.T, y[:, :3].T)[:4, 4:])
    assert (found[:, 3] == 0).all()
    with pytest.raises(ShapeError, match="same inputs"):
        correlations(x, y[:-1])


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ShapeError, match="not finite"):
        correlations(np.array([[1.0, np.nan], [2.0, 3.0]]), np.eye(2))


def test_units_in_another_order_are_found() -> None:
    x = RNG.normal(size=(60, 12))
    order = RNG.permutation(12)
    noisy = x[:, order] + 0.1 * RNG.normal(size=x.shape)
    assert (order[match_units(correlations(x, noisy))] == np.arange(12)).all()


@pytest.mark.parametrize("parts", [1, 3])
def test_heads_and_the_units_within_them_are_found(parts: int) -> None:
    heads, units = 4, 5
    x = RNG.normal(size=(80, heads, parts, units))
    order = RNG.permutation(heads)
    within = np.array([RNG.permutation(units) for _ in range(heads)])
    y = np.stack([x[:, order[head]][..., within[head]] for head in range(heads)], axis=1)
    chosen, inside = match_heads(x, y + 0.05 * RNG.normal(size=y.shape))
    for head in range(heads):
        assert order[chosen[head]] == head
        assert (within[chosen[head]][inside[head]] == np.arange(units)).all()


def test_the_barrier_of_least_squares_has_its_closed_form() -> None:
    """Mean squared error is quadratic on a line: its excess is -a (1 - a) |X(u - v)|^2 / n."""
    x, u, v, y = RNG.normal(size=(30, 6)), *RNG.normal(size=(2, 6)), RNG.normal(size=30)
    shares = np.linspace(0, 1, 11)
    losses = np.array([np.mean((x @ ((1 - a) * u + a * v) - y) ** 2) for a in shares])
    closed = -shares * (1 - shares) * np.mean((x @ (u - v)) ** 2)
    assert excess_of(losses, shares) == pytest.approx(closed)
    at, barrier = calc_barrier(losses, shares)
    assert barrier == pytest.approx(closed[1])  # convex: nearest to 0 beside an end
    assert at in (1, 9)
    assert calc_barrier(-losses, shares) == (5, pytest.approx(-closed[5]))


def test_a_path_of_two_points_has_no_barrier() -> None:
    with pytest.raises(ShapeError, match="between its ends"):
        calc_barrier(np.ones(2), (0.0, 1.0))
