"""Trends: known lines and parabolas, the choice between them, and points that cannot carry one."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.spectra.trends import KINDS, fit_trend
from core.studies.weights.ranks import equation_of

X = np.arange(12.0)


def test_a_line_is_found_and_written() -> None:
    noise = np.random.default_rng(0).normal(size=12) * 0.1
    trend = fit_trend(X, 20 - 1.5 * X + noise)
    assert trend is not None
    assert trend.kind == "linear"
    assert trend.coefficients == pytest.approx((20, -1.5), abs=0.1)
    assert trend.r2 > 0.99
    assert (
        equation_of(trend)
        == f"{trend.coefficients[0]:.3g} \N{MINUS SIGN} {-trend.coefficients[1]:.3g} × layer, R² = 1.00"
    )


def test_a_parabola_is_found() -> None:
    noise = np.random.default_rng(0).normal(size=12) * 0.1
    trend = fit_trend(X, 3 + X**2 / 4 + noise)
    assert trend is not None
    assert trend.kind == "quadratic"
    assert "layer²" in equation_of(trend)
    np.testing.assert_allclose(trend.at(X), 3 + X**2 / 4, atol=0.3)


def test_the_choice_is_by_aicc() -> None:
    y = np.array([1.0, 2.2, 2.9, 4.1, 4.9, 6.2])
    trend = fit_trend(np.arange(6.0), y)
    assert trend is not None
    for degree, kind in enumerate(KINDS):
        rest = y - np.polyval(np.polyfit(np.arange(6), y, degree), np.arange(6))
        parameters = degree + 2
        small = 2 * parameters * (parameters + 1) / (6 - parameters - 1)
        assert trend.aicc[kind] == pytest.approx(
            6 * np.log((rest**2).mean()) + 2 * parameters + small
        )
    assert trend.kind == min(trend.aicc, key=lambda kind: trend.aicc[kind]) == "linear"


def pooled_choice(x: np.ndarray, y: np.ndarray) -> str:
    """What the points of all models at once would say, by plain AIC."""
    scores = []
    for degree in (1, 2):
        rest = y - np.polyval(np.polyfit(x, y, degree), x)
        scores.append(len(x) * np.log((rest**2).mean()) + 2 * (degree + 2))
    return "quadratic" if scores[1] < scores[0] else "linear"


def test_data_without_a_trend_are_rarely_said_to_have_one() -> None:
    """Layers differ by accident, models agree on how: pooled, most such data look quadratic."""
    rng = np.random.default_rng(0)
    layers, models, times = 6, 18, 400
    depth = np.repeat(np.arange(1.0, layers + 1), models)
    ours, pooled = [], []
    for _ in range(times):
        ranks = np.repeat(rng.normal(30, 5, size=layers), models) + rng.normal(
            scale=2, size=layers * models
        )
        pooled.append(pooled_choice(depth, ranks))
        trend = fit_trend(np.arange(1.0, layers + 1), ranks.reshape(layers, models).mean(1))
        assert trend is not None
        ours.append(trend.kind)
    assert pooled.count("quadratic") > 0.7 * times
    assert ours.count("quadratic") < 0.02 * times
    assert ours.count("constant") > 0.9 * times


def test_a_plain_trend_is_seen_in_six_layers() -> None:
    rng = np.random.default_rng(1)
    kinds = []
    for _ in range(100):
        trend = fit_trend(np.arange(1.0, 7), 30 - 3 * np.arange(1.0, 7) + rng.normal(size=6))
        assert trend is not None
        kinds.append(trend.kind)
    assert kinds.count("linear") > 90


def test_exact_points_are_a_line() -> None:
    trend = fit_trend(X, 2 * X + 1)
    assert trend is not None
    assert trend.kind == "linear"
    assert trend.r2 == pytest.approx(1)


def test_constant_points_have_no_r2() -> None:
    trend = fit_trend(X, np.full(12, 7.0))
    assert trend is not None
    assert np.isnan(trend.r2)
    assert equation_of(trend) == "7, no trend"


def test_five_layers_carry_a_line_and_no_parabola() -> None:
    trend = fit_trend(np.arange(5.0), np.array([0.0, 1.1, 1.9, 3.1, 4.0]))
    assert trend is not None
    assert trend.kind == "linear"
    assert trend.aicc["quadratic"] == np.inf


def test_the_points_of_one_depth_are_to_be_averaged_first() -> None:
    with pytest.raises(ShapeError, match="per depth"):
        fit_trend(np.array([0.0, 0, 1, 1, 2, 3]), np.arange(6.0))


@pytest.mark.parametrize(
    ("x", "y"), [([0, 1, 2, 3], [1, 2, 3, 4]), ([0, 1, 2, 3, 4], [1, np.nan, np.nan, 2, 3])]
)
def test_too_few_points_have_no_trend(x: list[float], y: list[float]) -> None:
    assert fit_trend(np.array(x, float), np.array(y, float)) is None


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ShapeError):
        fit_trend(X, X[:3])
