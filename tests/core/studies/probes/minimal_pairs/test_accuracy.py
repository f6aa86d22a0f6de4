"""Shares: coverage of their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from core.studies.probes.minimal_pairs.accuracy import (
    correct,
    group_variance,
    grouped_interval,
    wilson_interval,
)


def test_a_tie_counts_half() -> None:
    good, bad = np.array([-1.0, -3.0, -2.0]), np.array([-2.0, -1.0, -2.0])
    assert correct(good, bad).tolist() == [1.0, 0.0, 0.5]


@pytest.mark.parametrize("share", [0.5, 0.9, 0.98])
def test_wilsons_interval_covers_about_95_of_100(share: float) -> None:
    from scipy.stats import binom

    ends = np.array([wilson_interval(float(count), 100) for count in range(101)])
    inside = (ends[:, 0] <= share) & (share <= ends[:, 1])
    assert 0.93 < binom.pmf(np.arange(101), 100, share)[inside].sum() < 0.98
    low, high = wilson_interval(100, 100)
    assert low < 1.0 == high


def test_pairs_that_are_right_together_count_as_fewer() -> None:
    alone, groups = np.arange(60), np.repeat(np.arange(6), 10)
    mixed = np.tile([1.0, 0.0], 30)
    together = np.repeat([1.0, 0.0, 1.0, 0.0, 1.0, 0.0], 10)
    assert grouped_interval(mixed, alone) == pytest.approx(wilson_interval(30, 60), abs=2e-3)
    low, high = grouped_interval(together, groups)
    assert high - low > 2 * np.subtract(*grouped_interval(mixed, alone)[::-1])
    assert high - low > np.subtract(*grouped_interval(mixed, groups)[::-1])
    for share in (np.ones(60), np.zeros(60)):
        low, high = grouped_interval(share, groups)
        assert low <= share[0] <= high
        assert high - low > np.subtract(*wilson_interval(6 * share[0], 6)[::-1])
    assert all(np.isnan(end) for end in grouped_interval(mixed, np.zeros(60, dtype=int)))


def test_the_variance_over_groups_is_that_of_their_totals() -> None:
    rng = np.random.default_rng(4)
    values, groups = rng.normal(size=30), np.arange(30) % 5
    totals = [values[groups == group].sum() for group in range(5)]
    mean = values.mean() * 6
    slow = sum((total - mean) ** 2 for total in totals) * 5 / 4 / 900
    assert group_variance(values, groups) == (pytest.approx(slow), 5)
    plain = group_variance(values, np.arange(30))[0]
    assert plain == pytest.approx(values.var(ddof=1) / 30)


@pytest.mark.parametrize(("groups", "size"), [(6, 16), (20, 5)])
def test_intervals_over_groups_cover_and_wilsons_do_not(groups: int, size: int) -> None:
    rng, inside, alone = np.random.default_rng(5), 0, 0
    labels = np.repeat(np.arange(groups), size)
    for _ in range(400):
        chance = rng.beta(1.4, 0.6, groups)  # 70 %, differently in each group
        right = (rng.random(groups * size) < chance[labels]).astype(float)
        low, high = grouped_interval(right, labels)
        inside += low <= 0.7 <= high
        low, high = wilson_interval(right.sum(), len(right))
        alone += low <= 0.7 <= high
    assert inside / 400 > 0.92
    assert alone / 400 < 0.8
