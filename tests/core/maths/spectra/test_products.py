"""Inner products of models against slow loops, whole and sketched."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.spectra.products import (
    LEAST_ENTRIES,
    change_cosines,
    cosines_from,
    distances_from,
    multiply_models,
    norms_of,
)

RNG = np.random.default_rng(0)
MATRICES = [RNG.standard_normal((6, 4)) for _ in range(3)]


def test_products_are_those_of_a_loop() -> None:
    paired, permuted = multiply_models(iter(MATRICES), 3, seed=5)
    order = np.random.default_rng(5).permutation(6)
    for a, first in enumerate(MATRICES):
        for b, second in enumerate(MATRICES):
            assert paired[a, b] == pytest.approx((first * second).sum())
            assert permuted[a, b] == pytest.approx((first * second[order]).sum())


def test_distances_and_cosines_follow_from_products() -> None:
    products, _ = multiply_models(iter(MATRICES), 3, seed=5)
    norms = norms_of(products)
    distances, cosines = distances_from(products, norms), cosines_from(products, norms)
    assert norms[1] == pytest.approx(np.linalg.norm(MATRICES[1]))
    assert distances[0, 2] == pytest.approx(np.linalg.norm(MATRICES[0] - MATRICES[2]))
    assert cosines[0, 2] == pytest.approx((MATRICES[0] * MATRICES[2]).sum() / norms[0] / norms[2])
    assert (np.diag(distances) == 0).all()
    assert np.isnan(cosines_from(np.zeros((1, 1)), np.zeros(1))).all()


def test_cosines_of_changes_are_those_of_the_differences() -> None:
    """Of two matrices at once, plain and with rows permuted; the third model did not change."""
    tuned = [MATRICES[0], MATRICES[1], MATRICES[2], MATRICES[0].copy()]
    stacks = [multiply_models(iter(tuned), 4, seed) for seed in (5, 6)]
    paired, mixed = (np.stack(each) for each in zip(*stacks, strict=True))
    plain, permuted = (change_cosines(each, paired, 0) for each in (paired, mixed))
    first, second = MATRICES[1] - MATRICES[0], MATRICES[2] - MATRICES[0]
    size = np.linalg.norm(first) * np.linalg.norm(second)
    for place, seed in enumerate((5, 6)):
        order = np.random.default_rng(seed).permutation(6)
        assert plain[place, 1, 2] == pytest.approx((first * second).sum() / size)
        assert permuted[place, 1, 2] == pytest.approx((first * second[order]).sum() / size)
    assert np.isnan(plain[:, 3]).all()


def test_sketched_distances_of_near_models_have_the_error_of_the_difference() -> None:
    """The error is a share of the distance itself, not of the much larger norms."""
    base = RNG.standard_normal((256, 256))
    tuned = base + 0.01 * RNG.standard_normal((256, 256))
    products, _ = multiply_models(iter([base, tuned]), 2, seed=1, held=2 * LEAST_ENTRIES)
    assert not np.isclose(products[0, 0], (base**2).sum(), rtol=1e-12), "not sketched"
    distances = distances_from(products, norms_of(products))
    share = (distances[0, 1] / np.linalg.norm(tuned - base)) ** 2
    assert share == pytest.approx(1.0, abs=5 * np.sqrt(2 / LEAST_ENTRIES))
