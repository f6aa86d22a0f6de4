"""Rank correlations, against scipy: coverage of their intervals, and p-values under the null."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from core.maths.ranks import correlation_interval, correlation_p, rank_correlation, smallest_p


def test_rank_correlation_is_spearmans() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    left, right = rng.normal(size=12), rng.integers(0, 4, 12).astype(float)
    assert rank_correlation(left, right) == pytest.approx(float(spearmanr(left, right).statistic))
    assert np.isnan(rank_correlation(left, np.ones(12)))


@pytest.mark.parametrize("true", [0.0, 0.7])
def test_the_interval_of_a_correlation_covers_95_of_100(true: float) -> None:
    rng, inside = np.random.default_rng(2), 0
    expected = 6 / np.pi * np.arcsin(true / 2)  # Spearman's of a normal pair
    for _ in range(600):
        left, noise = rng.normal(size=(2, 40))
        value = rank_correlation(left, true * left + np.sqrt(1 - true**2) * noise)
        low, high = correlation_interval(value, 40)
        inside += low <= expected <= high
    assert 0.925 < inside / 600 < 0.98
    assert all(np.isnan(end) for end in correlation_interval(0.5, 3))
    assert all(np.isnan(end) for end in correlation_interval(-1.0, 9))
    assert all(np.isnan(end) for end in correlation_interval(float("nan"), 9))


def test_a_p_value_of_few_models_counts_every_order() -> None:
    left, right = np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 3, 2, 4, 5])
    rng = np.random.default_rng(0)
    observed = rank_correlation(left, right)
    orders = [rank_correlation(left[list(order)], right) for order in permutations(range(5))]
    share = np.mean([abs(value) >= observed - 1e-12 for value in orders])
    assert correlation_p(left, right, rng) == pytest.approx(float(share))
    assert correlation_p(left, left, rng) == pytest.approx(2 / 120)
    assert correlation_p(left, left, rng) == pytest.approx(smallest_p(5))
    assert np.isnan(correlation_p(left, np.ones(5), rng))


@pytest.mark.slow
def test_p_values_of_unrelated_scores_are_uniform() -> None:
    rng = np.random.default_rng(3)
    values = [correlation_p(*rng.normal(size=(2, 8)), rng) for _ in range(60)]
    assert 0.0 <= np.mean(np.array(values) < 0.05) < 0.15
    assert 0.35 < np.mean(values) < 0.65
