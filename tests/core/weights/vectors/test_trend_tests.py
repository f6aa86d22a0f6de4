"""The test of a trend: correlated layers without one are rarely called, and a slow likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.weights.vectors.trend_tests import (
    CORRELATIONS,
    LEVEL,
    PARABOLA,
    _likelihoods,
    _models,
    trend_p_value,
)
from core.weights.vectors.trends import fit_trend

X = np.arange(12.0)


def wandering(points: int, correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Errors whose neighbours correlate."""
    errors = rng.normal(size=points)
    for place in range(1, points):
        new = np.sqrt(1 - correlation**2) * errors[place]
        errors[place] = correlation * errors[place - 1] + new
    return errors


@pytest.mark.parametrize("coefficients", [LEVEL, PARABOLA])
def test_likelihoods_are_those_of_generalised_least_squares(coefficients: int) -> None:
    """Against the textbook formula: inverse covariance, normal equations, determinants."""
    x = np.array([1.0, 2, 3, 5, 8, 9, 10])
    y = np.random.default_rng(0).normal(size=7)
    design = np.vander((x - x.mean()) / np.ptp(x), coefficients, increasing=True)
    for place in (0, 7, 19):
        covariance = np.power(CORRELATIONS[place], np.abs(x[:, None] - x))
        inverse = np.linalg.inv(covariance)
        information = design.T @ inverse @ design
        rest = y - design @ np.linalg.solve(information, design.T @ inverse @ y)
        error, spread = rest @ inverse @ rest, np.linalg.slogdet(covariance)[1]
        models = _models(tuple(x))
        plain = _likelihoods(y[:, None], models, coefficients)[place, 0]
        assert plain == pytest.approx(-0.5 * (7 * np.log(error) + spread))
        if coefficients == LEVEL:
            bound = np.linalg.slogdet(information)[1]
            restricted = _likelihoods(y[:, None], models, LEVEL, restricted=True)[place, 0]
            assert restricted == pytest.approx(-0.5 * (6 * np.log(error) + spread + bound))


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_layers_that_resemble_their_neighbours_have_no_trend_by_that(correlation: float) -> None:
    rng = np.random.default_rng(0)
    called, by_aicc, times = 0, 0, 300
    for _ in range(times):
        y = wandering(12, correlation, rng)
        called += trend_p_value(X, y, draws=99) < 0.05
        trend = fit_trend(X, y)
        by_aicc += trend is not None and trend.kind != "constant"
    assert called <= 0.075 * times
    assert by_aicc > 0.1 * times


@pytest.mark.parametrize("bend", [0.0, 0.4])
def test_a_steep_trend_is_detected(bend: float) -> None:
    noise = np.random.default_rng(1).normal(size=12)
    assert trend_p_value(X, 2.5 * X + bend * X**2 + noise) < 0.05


def test_a_p_value_does_not_depend_on_units_or_missing_layers() -> None:
    y = np.random.default_rng(2).normal(size=12) + X / 3
    p_value = trend_p_value(X, y, draws=199)
    assert trend_p_value(X, 1000 * y - 7, draws=199) == p_value
    missing = np.append(y, np.nan)
    assert trend_p_value(np.append(X, 12.0), missing, draws=199) == p_value


def test_exact_points_have_the_smallest_p_and_a_constant_has_none() -> None:
    assert trend_p_value(X, 3 * X + 1, draws=99) == 0.01
    assert trend_p_value(X, np.full(12, 7.0)) == 1.0


def test_five_layers_are_too_few() -> None:
    assert np.isnan(trend_p_value(X[:5], X[:5]))


def test_points_that_do_not_pair_up_are_refused() -> None:
    with pytest.raises(ShapeError, match="as many depths"):
        trend_p_value(X, X[:3])
    with pytest.raises(ShapeError, match="per depth"):
        trend_p_value(np.array([0.0, 0, 1, 2, 3, 4]), np.arange(6.0))
