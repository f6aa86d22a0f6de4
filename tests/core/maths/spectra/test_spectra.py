"""Spectra: against full singular value decompositions, planted ranks, and what float32 would get
wrong."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.spectra.spectra import (
    decompose,
    energy_rank,
    entropy_rank,
    singular_values,
    stable_rank,
)

RNG = np.random.default_rng(5)


def planted(rows: int, columns: int, rank: int, rng: np.random.Generator = RNG) -> np.ndarray:
    return rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns))


def slow_energy_rank(values: np.ndarray, threshold: float) -> int:
    total, sum_so_far = sum(v * v for v in values), 0.0
    for count, value in enumerate(values, start=1):
        sum_so_far += value * value
        if sum_so_far >= threshold * total:
            return count
    raise AssertionError


@pytest.mark.parametrize("shape", [(40, 40), (30, 120), (120, 30), (1, 7), (7, 1)])
def test_values_equal_a_full_decomposition(shape: tuple[int, int]) -> None:
    matrix = RNG.normal(size=shape).astype(np.float32)
    expected = np.linalg.svd(matrix.astype(float), compute_uv=False)
    np.testing.assert_allclose(singular_values(matrix), expected, rtol=1e-9)
    for threshold in (0.5, 0.9, 0.99, 1.0):
        assert energy_rank(expected, threshold) == slow_energy_rank(
            expected, threshold * (1 - 1e-12)
        )


@pytest.mark.parametrize("shape", [(128, 128), (128, 512), (512, 128)])
@pytest.mark.parametrize("rank", [1, 8, 20])
def test_a_planted_rank_is_recovered_exactly(shape: tuple[int, int], rank: int) -> None:
    values = singular_values(planted(*shape, rank))
    assert np.count_nonzero(values) == rank
    assert energy_rank(values, 1.0) == rank
    assert stable_rank(values) <= rank
    assert entropy_rank(values) <= rank + 1e-9


def test_a_planted_rank_survives_rounding_of_the_weights() -> None:
    base = RNG.normal(size=(128, 128)).astype(np.float32)
    delta = (base + planted(128, 128, 8).astype(np.float32)) - base
    assert energy_rank(singular_values(delta), 0.9999) == 8


def test_equal_values_have_the_same_rank_by_every_measure() -> None:
    values = np.array([2.0] * 6 + [0.0] * 4)
    assert energy_rank(values, 1.0) == 6
    assert energy_rank(values, 0.5) == 3
    assert stable_rank(values) == pytest.approx(6)
    assert entropy_rank(values) == pytest.approx(6)


def test_ranks_do_not_depend_on_scale_and_work_on_stacks() -> None:
    stack = np.sort(RNG.random(size=(3, 4, 9)))[..., ::-1]
    for measure in (stable_rank, entropy_rank, lambda values: energy_rank(values, 0.9)):
        whole = measure(1e-5 * stack)
        assert whole.shape == (3, 4)
        np.testing.assert_allclose(whole[1, 2], measure(stack[1, 2]))


def test_a_zero_matrix_has_rank_zero_and_no_stable_or_entropy_rank() -> None:
    values = singular_values(np.zeros((5, 8)))
    assert energy_rank(values, 0.9) == 0
    assert np.isnan(stable_rank(values))
    assert np.isnan(entropy_rank(values))
    assert not decompose(np.zeros((5, 8)), 2).left.any()


@pytest.mark.parametrize("shape", [(20, 50), (50, 20), (30, 30)])
def test_decompose_rebuilds_the_best_approximation(shape: tuple[int, int]) -> None:
    matrix = RNG.normal(size=shape)
    parts = decompose(matrix, 5)
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(parts.values, values, rtol=1e-9)
    best = left[:, :5] * values[:5] @ right[:5]
    np.testing.assert_allclose(parts.left * parts.values[:5] @ parts.right.T, best, atol=1e-10)
    np.testing.assert_allclose(parts.left.T @ parts.left, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(parts.right.T @ parts.right, np.eye(5), atol=1e-10)


def test_directions_beyond_the_rank_are_zero() -> None:
    parts = decompose(planted(30, 40, 3), 5)
    assert parts.left.shape == (30, 5)
    assert parts.right.shape == (40, 5)
    assert not parts.left[:, 3:].any()
    assert not parts.right[:, 3:].any()


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [(np.zeros(4), "shape"), (np.zeros((0, 4)), "shape"), (np.array([[np.nan, 1.0]]), "finite")],
)
def test_what_is_no_matrix_is_refused(matrix: np.ndarray, reason: str) -> None:
    with pytest.raises(ShapeError, match=reason):
        singular_values(matrix)


@pytest.mark.parametrize("threshold", [0.0, -0.1, 1.1])
def test_a_threshold_outside_its_range_is_refused(threshold: float) -> None:
    with pytest.raises(ShapeError, match="threshold"):
        energy_rank(np.ones(3), threshold)


def test_a_rank_below_one_is_refused() -> None:
    with pytest.raises(ShapeError, match="rank"):
        decompose(np.eye(3), 0)
