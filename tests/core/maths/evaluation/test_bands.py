"""Bands over models and held-out units."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.evaluation.bands import leave_out


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_leaving_out_equals_a_slow_loop(rng) -> None:
    """Pairs a, b: what is left without a model is every pair that does not hold it; without a unit,
    its sums."""
    pairs = [(a, b) for a in "wxyz" for b in "wxyz" if a != b]
    error, spread = rng.random((12, 3, 10)), rng.random((12, 3, 10)) + 1
    spread[:, :, 4] = error[:, :, 4] = 0  # a unit without a row counts for nothing
    found = leave_out(error, spread, pairs)
    np.testing.assert_allclose(found.point, (error.sum(-1) / spread.sum(-1)).mean(0))
    for place, model in enumerate("wxyz"):
        kept = [number for number, pair in enumerate(pairs) if model not in pair]
        assert len(kept) == 6
        np.testing.assert_allclose(
            found.models[place], (error[kept].sum(-1) / spread[kept].sum(-1)).mean(0)
        )
    for place, unit in enumerate([0, 1, 2, 3, 5, 6, 7, 8, 9]):
        one, two = np.delete(error, unit, -1).sum(-1), np.delete(spread, unit, -1).sum(-1)
        np.testing.assert_allclose(found.units[place], (one / two).mean(0))
    assert len(found.units) == 9


def test_bands_over_three_models_cover_and_a_bootstrap_of_three_does_not(rng) -> None:
    """Each model has a level of its own, a pair the sum of two: .95 of 300 bands must hold the mean
    of all models."""
    pairs = [(a, b) for a in "abc" for b in "abc" if a != b]
    hit = bootstrap = 0
    for _ in range(300):
        level = dict(zip("abc", rng.normal(0.25, 0.05, size=3), strict=True))
        error = np.array([[rng.normal(level[a] + level[b], 0.02, size=40)] for a, b in pairs])
        found = leave_out(error, np.ones_like(error), pairs)
        low, high = found.band()
        hit += int(low[0] <= 0.5 <= high[0])
        draws = rng.choice(list(level.values()), size=(200, 3)).mean(1) * 2
        bootstrap += int(np.quantile(draws, 0.025) <= 0.5 <= np.quantile(draws, 0.975))
    assert hit / 300 > 0.92
    assert bootstrap / 300 < 0.9


def test_the_band_of_two_models_is_of_this_pair_and_narrower(rng) -> None:
    pairs = [(a, b) for a in "abcd" for b in "abcd" if a != b]
    level = dict(zip("abcd", (0.1, 0.2, 0.6, 0.9), strict=True))
    error = np.stack([np.full((1, 50), level[a] * level[b]) for a, b in pairs]) + 0.01 * rng.random(
        (12, 1, 50)
    )
    low, high = leave_out(error, np.ones_like(error), pairs).band()
    low_two, high_two = leave_out(
        error[[0, 3]], np.ones((2, 1, 50)), [("a", "b"), ("b", "a")]
    ).band()
    assert high - low > 20 * (high_two - low_two)


def test_a_model_that_all_pairs_share_is_not_left_out(rng) -> None:
    """As where the only pair without it has failed."""
    pairs = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "a")]
    error = rng.random((4, 1, 50))
    found = leave_out(error, np.ones_like(error), pairs)
    np.testing.assert_allclose(found.models[:, 0], [error[2:].mean(), error[:2].mean()], rtol=1e-12)
    assert np.isfinite(found.band()).all()


def test_what_two_maps_share_cancels_in_their_difference(rng) -> None:
    pairs = [(a, b) for a in "abc" for b in "abc" if a != b]
    shared = rng.random((6, 2, 30))
    one, two = (leave_out(shared + shift, np.ones_like(shared), pairs) for shift in (0.1, 0.0))
    low, high = (one - two).band()
    np.testing.assert_allclose([low, high], 0.1, atol=1e-9)
    low, high = one.band_of_difference(two)
    assert (high - low > 0.1).all()  # other models: what is shared is chance
