"""Tests of independent training, against scipy, slow enumeration, and matrices drawn at random."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from core.errors import ShapeError
from core.maths.independence import combine_log_p, compare_units, match_rows, order_log_p
from core.maths.ranks import rank_correlation

UNITS, COLUMNS = 40, 12


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_the_rank_correlation_and_its_p_value_are_scipy_s(noise: float) -> None:
    rng = np.random.default_rng(1)
    first = rng.permutation(30)
    second = np.argsort(first + noise * rng.normal(size=30) * 10)
    second = np.argsort(second) if noise else first
    expected = stats.spearmanr(first, second, alternative="greater")
    correlation = rank_correlation(first, second)
    assert correlation == pytest.approx(expected.statistic)
    if noise:
        assert np.exp(order_log_p(correlation, 30)) == pytest.approx(expected.pvalue)


def test_no_p_value_is_below_that_of_one_order_among_all() -> None:
    assert order_log_p(1.0, 12) == pytest.approx(-np.log(479001600))  # 12!
    assert -7000 < order_log_p(1.0, 1024) < -6000  # 1 / 1024!, which no float64 holds


def test_the_logarithm_goes_on_where_the_p_value_underflows() -> None:
    degrees = 998 / 2
    for correlation in (0.84, 0.86):  # on both sides of the change of formula
        exact = stats.t(998).logsf(correlation * np.sqrt(998 / (1 - correlation**2)))
        found = order_log_p(correlation, 1000)
        if np.isfinite(exact):
            assert found == pytest.approx(exact, rel=1e-9)
        assert found < -degrees * (1 - 0.7) * 2
    values = [order_log_p(correlation, 1000) for correlation in np.linspace(0.8, 0.95, 31)]
    assert (np.diff(values) < 0).all()
    assert np.abs(np.diff(values, 2)).max() < 5  # no step between the formulas


@pytest.mark.slow
def test_of_few_units_a_p_value_is_near_the_count_over_all_orders() -> None:
    every = np.array([rank_correlation(np.array(o), np.arange(7)) for o in permutations(range(7))])
    for correlation in (0.0, 0.4, 0.8):
        share = float((every >= correlation - 1e-9).mean())
        assert np.exp(order_log_p(correlation, 7)) == pytest.approx(share, abs=0.03)


def test_fisher_s_method_is_scipy_s_and_does_not_underflow() -> None:
    p_values = [0.3, 0.02, 0.7, 0.011]
    expected = stats.combine_pvalues(p_values).pvalue
    assert np.exp(combine_log_p(np.log(p_values))) == pytest.approx(expected)
    assert combine_log_p([-2000.0] * 6) < -11000
    assert combine_log_p([0.0, 0.0]) == 0.0


def drawn_pair(rng: np.random.Generator) -> tuple[float, float]:
    """P-values of two independent random networks of three layers: as they stand, in any order."""
    logs: list[list[float]] = [[], []]
    for _ in range(3):
        one, two = (
            [rng.normal(size=(UNITS, COLUMNS)) * rng.gamma(2, size=(UNITS, 1)) for _ in range(2)]
            for _ in range(2)
        )
        orders = [match_rows(first, second) for first, second in zip(one, two, strict=True)]
        logs[0].append(order_log_p(rank_correlation(orders[0], np.arange(UNITS)), UNITS))
        logs[1].append(order_log_p(rank_correlation(*orders), UNITS))
    in_order, in_any = (float(np.exp(combine_log_p(each))) for each in logs)
    return in_order, in_any


@pytest.mark.slow
def test_p_values_of_200_independent_pairs_are_uniform() -> None:
    rng = np.random.default_rng(5)
    for values in zip(*(drawn_pair(rng) for _ in range(200)), strict=True):
        assert stats.kstest(values, "uniform").pvalue > 0.05
        assert 0.01 <= np.mean(np.array(values) < 0.05) <= 0.1


@pytest.mark.parametrize("wide", [UNITS, 3 * UNITS])
def test_a_permuted_copy_matches_in_another_order_that_both_matrices_have(wide: int) -> None:
    rng = np.random.default_rng(2)
    matrices = [rng.normal(size=(wide, COLUMNS)) for _ in range(2)]
    order = rng.permutation(wide)
    moved = [matrix[order] + 0.1 * rng.normal(size=matrix.shape) for matrix in matrices]
    asked = np.arange(0, wide, wide // UNITS)
    found = [match_rows(m[asked], n) for m, n in zip(matrices, moved, strict=True)]
    assert (order[found[0]] == asked).all()
    assert order_log_p(rank_correlation(*found), UNITS) < -100
    assert order_log_p(rank_correlation(found[0], asked), UNITS) > np.log(0.01)
    kept = match_rows(matrices[0][asked], matrices[0] + 0.1 * rng.normal(size=(wide, COLUMNS)))
    assert rank_correlation(kept, asked) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("silenced", ["smallest", "last", "all"])
def test_units_that_pruning_silenced_say_nothing_of_a_start(silenced: str) -> None:
    rng = np.random.default_rng(9)
    found: list[tuple[float, float]] = []
    for _ in range(60):
        one, two = ([rng.normal(size=(UNITS, COLUMNS)) for _ in range(2)] for _ in range(2))
        count = UNITS if silenced == "all" else UNITS // 4
        by_norm = np.argsort(np.linalg.norm(two[0], axis=1))
        gone = by_norm[:count] if silenced == "smallest" else np.arange(UNITS)[-count:]
        for matrix in two:
            matrix[gone] = 0
        for pair in ((one, two), (two, one)):
            orders = compare_units(*pair, most=UNITS)
            found.append((order_log_p(orders.order, UNITS), order_log_p(orders.matched, UNITS)))
    for values in np.exp(found).T:
        assert (values < 0.01).sum() <= 5, "1.2 of 120 are expected"
    orders = compare_units(one, [matrix + 0 for matrix in one], most=UNITS)
    kept = [matrix.copy() for matrix in one]
    for matrix in kept:
        matrix[: UNITS // 4] = 0
    assert order_log_p(orders.order, UNITS) < -100
    assert order_log_p(compare_units(one, kept, most=UNITS).order, UNITS) < -20


def test_too_few_units_are_refused() -> None:
    with pytest.raises(ShapeError, match="at least 3 units"):
        compare_units([np.ones((2, 4))] * 2, [np.ones((2, 4))] * 2, most=9)
    with pytest.raises(ShapeError, match="cannot be matched to 2"):
        match_rows(np.ones((3, 4)), np.ones((2, 4)))
