"""Resampling, intervals, p-values and ranks, each against a loop that anyone can read."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from core.errors import ShapeError
from core.maths import statistics

SENTENCE = np.array([7, 7, 3, 3, 3, 9, 12, 12])


def test_bootstrap_counts_are_draws_with_replacement() -> None:
    counts = statistics.sentence_counts(4, 20_000, np.random.default_rng(1))
    assert counts.shape == (20_000, 4)
    assert set(counts.sum(axis=1).tolist()) == {4}
    assert (counts == 0).mean() == pytest.approx((3 / 4) ** 4, abs=0.01)


def test_ratios_over_sentences_are_those_of_repeated_sentences() -> None:
    rng = np.random.default_rng(8)
    parts, wholes = rng.integers(0, 5, (3, 6)), rng.integers(5, 9, 6)
    counts = statistics.sentence_counts(6, 4, rng)
    together, drawn = statistics.ratio(parts, wholes), statistics.ratio(parts, wholes, counts)
    for row in range(3):
        assert together[row] == pytest.approx(sum(parts[row]) / sum(wholes))
        for draw, times in enumerate(counts):
            again = np.repeat(np.arange(6), times)
            expected = sum(parts[row, again]) / sum(wholes[again])
            assert drawn[draw, row] == pytest.approx(expected)


def test_bootstrap_band_has_the_width_of_the_standard_error() -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal(400)
    low, high = statistics.interval(statistics.sentence_counts(400, 1000, rng) @ values / 400)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.1)


def test_jackknife_of_a_mean_is_its_standard_error() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal(60)
    replicates = [
        values[kept].mean() for kept in statistics.jackknife_sentences(np.arange(60), 60, rng)
    ]
    low, high = statistics.jackknife_interval(values.mean(), replicates)
    width = stats.t.ppf(0.975, 59) * values.std(ddof=1) / np.sqrt(60)
    assert [low, high] == pytest.approx([values.mean() - width, values.mean() + width])
    assert (low + high) / 2 == pytest.approx(values.mean())


def test_jackknife_leaves_each_sentence_out_once() -> None:
    left_out = [
        set(range(8)) - set(kept.tolist())
        for kept in statistics.jackknife_sentences(SENTENCE, 3, np.random.default_rng(0))
    ]
    assert len(left_out) == 3
    assert set.union(*left_out) == set(range(8))
    assert sum(len(group) for group in left_out) == 8
    for group in left_out:
        assert {int(label) for label in SENTENCE[list(group)]}.isdisjoint(
            {int(label) for label in SENTENCE[[item for item in range(8) if item not in group]]}
        )


def test_interval_against_sorted_values_and_nan() -> None:
    low, high = statistics.interval(np.arange(101.0))
    assert [float(low), float(high)] == pytest.approx([2.5, 97.5])
    table = np.column_stack(
        [np.arange(101.0), np.full(101, np.nan), np.where(np.arange(101) < 1, np.nan, 4.0)]
    )
    low, high = statistics.interval(table)
    assert low.tolist() == pytest.approx([2.5, np.nan, 4.0], nan_ok=True)
    assert high.tolist() == pytest.approx([97.5, np.nan, 4.0], nan_ok=True)
    low, high = statistics.interval(table.T, level=0.5, axis=1)
    assert [low[0], high[0]] == pytest.approx([25.0, 75.0])


def test_permutation_p_counts_the_observation() -> None:
    assert statistics.permutation_p(2.0, [0.0, 1.0, 3.0]) == 0.5
    assert statistics.permutation_p(9.0, np.zeros(99)) == 0.01


def test_refusals() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ShapeError, match="one entry an item"):
        statistics.sentence_labels(np.zeros((2, 2)))
    with pytest.raises(ShapeError, match="sentences and draws"):
        statistics.sentence_counts(0, 5, rng)
    with pytest.raises(ShapeError, match="at least two sentences"):
        next(statistics.jackknife_sentences([1, 1], 5, rng))
    with pytest.raises(ShapeError, match="between 0 and 1"):
        statistics.interval([1.0], level=1.0)
    with pytest.raises(ShapeError, match="at least one draw"):
        statistics.interval([])
    with pytest.raises(ShapeError, match="between 0 and 1"):
        statistics.jackknife_interval(0.5, [1.0, 2.0], level=0.0)
    with pytest.raises(ShapeError, match="at least one draw"):
        statistics.permutation_p(1.0, [])
    assert np.isnan(statistics.jackknife_interval(0.5, [np.nan, 1.0])).all()


def test_a_t_interval_of_one_source_is_the_textbooks() -> None:
    from scipy import stats

    values = np.array([0.3, 0.5, 0.9])
    left_out = np.array([np.delete(values, place).mean() for place in range(3)])
    low, high = statistics.t_interval(values.mean(), [statistics.jackknife_variance(left_out)], [2])
    np.testing.assert_allclose(
        [low, high], stats.t.interval(0.95, 2, values.mean(), stats.sem(values))
    )


def test_a_t_interval_of_two_sources_has_welchs_degrees_of_freedom() -> None:
    from scipy import stats

    few, many = 0.04, 0.01
    low, high = statistics.t_interval([1.0, 2.0], [[few, 0.0], [many, many]], [2, 99])
    freedom = (few + many) ** 2 / (few**2 / 2 + many**2 / 99)
    assert high[0] - 1 == pytest.approx(stats.t.ppf(0.975, freedom) * (few + many) ** 0.5)
    assert high[1] - low[1] == pytest.approx(2 * stats.t.ppf(0.975, 99) * many**0.5)
    with pytest.raises(ShapeError, match="degrees of freedom"):
        statistics.t_interval(1.0, [0.1], [0])


def test_projection_weights_are_a_slow_loops() -> None:
    rng = np.random.default_rng(0)
    variables, neurons = rng.normal(size=(3, 20)), rng.normal(size=(5, 20))
    slow = [sum(abs(float(variable @ neuron)) for neuron in neurons) for variable in variables]
    np.testing.assert_allclose(
        statistics.projection_weights(variables @ neurons.T), np.array(slow) / sum(slow)
    )


def test_sums_by_group_equal_a_slow_loop_and_grow_with_items_not_with_groups_times_items() -> None:
    rng = np.random.default_rng(4)
    values, group = rng.normal(size=(2, 500, 3)), rng.integers(0, 40, 500)
    slow = np.zeros((2, 45, 3))  # five groups have no item
    for item, place in enumerate(group):
        slow[:, place] += values[:, item]
    np.testing.assert_allclose(
        statistics.sum_by_group(values, group, 45, axis=-2), slow, atol=1e-12
    )
    np.testing.assert_allclose(
        statistics.sum_by_group(values[..., 0], group, 45), slow[..., 0], atol=1e-12
    )
    assert not statistics.sum_by_group(np.zeros((2, 0)), np.zeros(0, dtype=np.int64), 3).any()
    many = 100_000  # as a table of group by item this would be 80 GB
    tracemalloc.start()
    assert statistics.sum_by_group(np.ones(many), np.arange(many), many).sum() == many
    assert tracemalloc.get_traced_memory()[1] < 100 * 8 * many
    tracemalloc.stop()
