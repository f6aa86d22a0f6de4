"""Trends: known lines and parabolas, the choice between them, and points that cannot carry one."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.weights.trends import fit_trend

X = np.arange(12.0)


def test_a_line_is_found_and_written() -> None:
    noise = np.random.default_rng(0).normal(size=12) * 0.1
    trend = fit_trend(X, 20 - 1.5 * X + noise)
    assert trend is not None
    assert trend.kind == "linear"
    assert trend.coefficients == pytest.approx((20, -1.5), abs=0.1)
    assert trend.r2 > 0.99
    assert trend.equation() == f"rank = {trend.coefficients[0]:.3g} - {-trend.coefficients[1]:.3g} layer  (R² = 1.00)"


def test_a_parabola_is_found() -> None:
    noise = np.random.default_rng(0).normal(size=12) * 0.1
    trend = fit_trend(X, 3 + X**2 / 4 + noise)
    assert trend is not None
    assert trend.kind == "quadratic"
    assert "layer²" in trend.equation("stable rank")
    np.testing.assert_allclose(trend.at(X), 3 + X**2 / 4, atol=0.3)


def test_the_choice_is_by_aic() -> None:
    y = np.array([1.0, 2.2, 2.9, 4.1, 4.9, 6.2])
    trend = fit_trend(np.arange(6.0), y)
    assert trend is not None
    for degree, given in ((1, trend.aic_linear), (2, trend.aic_quadratic)):
        rest = y - np.polyval(np.polyfit(np.arange(6), y, degree), np.arange(6))
        assert given == pytest.approx(6 * np.log((rest**2).mean()) + 2 * (degree + 2))
    assert (trend.kind == "quadratic") == (trend.aic_quadratic < trend.aic_linear)


def test_exact_points_are_a_line() -> None:
    trend = fit_trend(X, 2 * X + 1)
    assert trend is not None
    assert trend.kind == "linear"
    assert trend.r2 == pytest.approx(1)


def test_constant_points_have_no_r2() -> None:
    trend = fit_trend(X, np.full(12, 7.0))
    assert trend is not None
    assert np.isnan(trend.r2)
    assert "R²" not in trend.equation()


def test_two_depths_carry_a_line_only() -> None:
    trend = fit_trend(np.array([0.0, 0, 1, 1]), np.array([1.0, 2, 3, 5]))
    assert trend is not None
    assert trend.kind == "linear"


@pytest.mark.parametrize(
    ("x", "y"), [([0, 1, 2], [1, 2, 3]), ([1, 1, 1, 1], [1, 2, 3, 4]), ([0, 1, 2, 3], [1, np.nan, np.nan, 2])]
)
def test_too_few_points_have_no_trend(x: list[float], y: list[float]) -> None:
    assert fit_trend(np.array(x, float), np.array(y, float)) is None


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ShapeError):
        fit_trend(X, X[:3])
