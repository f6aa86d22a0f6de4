"""The shape of a cloud: closed forms, a slow loop, and what does not change it."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.spectra.shape import (
    BLOCKS,
    COSINE,
    EFFECTIVE_RANK,
    FIRST,
    MEASURES,
    SLOPE,
    shape_intervals,
    shape_of,
)


def with_spectrum(eigenvalues: np.ndarray, items: int = 400, seed: int = 0) -> np.ndarray:
    """Vectors whose covariance has these eigenvalues exactly, in turned axes, off the origin."""
    rng = np.random.default_rng(seed)
    d = len(eigenvalues)
    drawn = rng.standard_normal((items, d))
    basis = np.linalg.qr(drawn - drawn.mean(0))[0]
    turned = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return basis * np.sqrt(eigenvalues) @ turned + 3.0


def test_orthonormal_columns_fill_every_direction() -> None:
    found = shape_of(with_spectrum(np.ones(40)))
    assert found[EFFECTIVE_RANK] == pytest.approx(40)
    assert found[FIRST] == pytest.approx(1 / 40)
    assert found[SLOPE] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0])
def test_a_power_law_has_its_exponent(exponent: float) -> None:
    spectrum = np.arange(1.0, 65.0) ** -exponent
    found = shape_of(with_spectrum(spectrum))
    assert found[SLOPE] == pytest.approx(exponent)
    roots = np.sqrt(spectrum) / np.sqrt(spectrum).sum()
    assert found[EFFECTIVE_RANK] == pytest.approx(np.exp(-(roots * np.log(roots)).sum()))


def test_the_mean_cosine_is_that_of_all_pairs() -> None:
    x = np.random.default_rng(1).standard_normal((30, 5)) + 0.4
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    pairs = [units[i] @ units[j] for i in range(30) for j in range(30) if i != j]
    assert shape_of(x)[COSINE] == pytest.approx(np.mean(pairs))


def test_turning_and_scaling_change_nothing() -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((200, 16)) * np.linspace(1, 5, 16)
    turned = 7 * x @ np.linalg.qr(rng.standard_normal((16, 16)))[0]
    assert shape_of(turned) == pytest.approx(shape_of(x))


def test_the_jackknife_is_a_loop_over_blocks() -> None:
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(50), 6)
    x = rng.standard_normal((300, 12)) + np.repeat(rng.standard_normal((50, 12)), 6, axis=0)
    block = group * BLOCKS // 50
    left = np.array([[shape_of(x[block != b])[name] for name in MEASURES] for b in range(BLOCKS)])
    error = np.sqrt((BLOCKS - 1) / BLOCKS * ((left - left.mean(0)) ** 2).sum(0))
    whole = shape_of(x)
    for place, (name, (value, low, high)) in enumerate(shape_intervals(x, group).items()):
        assert value == pytest.approx(whole[name])
        assert (high - low) / 2 == pytest.approx(2.093024 * error[place], rel=1e-4)


def test_what_has_no_shape_is_not_a_number_or_refused() -> None:
    assert np.isnan(shape_of(np.ones((9, 3)))[EFFECTIVE_RANK])
    assert shape_of(np.ones((9, 3)))[COSINE] == pytest.approx(1)
    assert np.isnan(shape_of(np.eye(4))[SLOPE])
    alone = shape_intervals(np.eye(4), np.zeros(4, dtype=np.int64))
    assert np.isnan(alone[EFFECTIVE_RANK][1])
    with pytest.raises(ShapeError, match="two vectors"):
        shape_of(np.ones((1, 3)))
