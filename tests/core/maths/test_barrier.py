"""The barrier, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.barrier import calc_barrier, excess_of

RNG = np.random.default_rng(0)


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
