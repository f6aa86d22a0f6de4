"""Matching of units and heads, against planted orders."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.permutations import correlations, match_heads, match_units

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
