"""AUCs over layers: the textbook's number, draws against explicit resampling, the band's units."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.rsa.truth.areas import (
    area,
    area_at_equal_depth,
    area_band,
    area_draws,
    corrected_low,
    draw_units,
)


def test_the_area_is_the_share_of_pairs_in_the_right_order() -> None:
    drawn = np.random.default_rng(0)
    truth, score = drawn.random(30) < 0.4, np.round(drawn.random(30), 1)  # with ties
    pairs = [(float(a > b) + 0.5 * float(a == b)) for a in score[truth] for b in score[~truth]]
    assert area(truth, score) == pytest.approx(np.mean(pairs))
    assert np.isnan(area(np.ones(3, dtype=bool), np.arange(3.0)))


def test_at_equal_depth_depth_says_nothing() -> None:
    drawn = np.random.default_rng(1)
    truth, score = drawn.random((6, 4)) < 0.5, drawn.random((6, 4))
    pairs = [
        float(score[one, layer] > score[other, layer])
        for layer in range(4) for one in range(6) for other in range(6)
        if truth[one, layer] and not truth[other, layer]
    ]  # fmt: skip
    assert area_at_equal_depth(truth, score) == pytest.approx(np.mean(pairs))
    assert area_at_equal_depth(truth, np.tile(np.arange(4.0), (6, 1))) == 0.5


def test_draws_equal_resampled_models() -> None:
    drawn = np.random.default_rng(2)
    truth, score = drawn.random((8, 5)) < 0.5, np.round(drawn.random((8, 5)), 1)  # with ties
    unit = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    counts = np.array([[1, 1, 1, 1], [0, 2, 1, 1], [3, 0, 0, 1]])
    fast = area_draws(truth, score, unit, counts)
    for value, row in zip(fast, counts, strict=True):
        picked = np.repeat(np.arange(8), row[unit])
        assert value == pytest.approx(area(truth[picked].ravel(), score[picked].ravel()))
    assert np.isnan(area_draws(np.ones((8, 5), dtype=bool), score, unit, counts)).all()


def test_a_draw_takes_fine_tunes_and_units_within_them() -> None:
    counts = draw_units(4, 3, 2_000, np.random.default_rng(3)).reshape(-1, 4, 3)
    assert (counts.sum(axis=(1, 2)) == 12).all()
    of_tuned = counts.sum(axis=2)
    assert (of_tuned % 3 == 0).all(), "a fine-tune comes with as many units as it has"
    # two stages: fine-tunes vary as 4 drawn of 4 do, times 3 units; one stage would give 2.25
    assert float(of_tuned.var(axis=0).mean()) == pytest.approx(9 * 0.75, rel=0.1)
    assert float(counts.mean()) == pytest.approx(1.0, rel=0.01)
    assert (counts[of_tuned > 0] > 1).any(), "units are drawn with replacement"


def test_the_band_covers_differences_between_fine_tunes() -> None:
    """Alike masks and layers: what differs is how far each fine-tune moved."""
    drawn = np.random.default_rng(4)
    mask = drawn.random((5, 3, 7)) < 0.5
    truth = np.stack([mask, ~mask], axis=2).reshape(5, 6, 7)
    noise = drawn.standard_normal((5, 6, 7))
    apart = truth * np.array([0.0, 0.5, 1.5, 3.0, 6.0])[:, None, None] + noise
    alike = truth * 2.0 + noise
    low, high = area_band(truth, apart, 2, 300, 0)
    assert low < area(truth.ravel(), apart.ravel()) < high
    even = area_band(truth, alike, 2, 300, 0)
    assert high - low > 2 * (even[1] - even[0])
    assert area_band(truth, apart, 2, 300, 0) == (low, high), "seeded"
    assert area_band(truth, 9.0 * truth + np.tanh(noise), 2, 300, 0) == (1.0, 1.0)


def test_a_band_is_widened_for_the_number_of_measures() -> None:
    error = (0.6 - 0.55) / stats.t.ppf(0.975, 5)
    expected = 0.6 - error * stats.t.ppf(1 - 0.05 / 18, 5)
    assert corrected_low(0.6, 0.55, 6, 9) == pytest.approx(expected)
    assert corrected_low(0.6, 0.55, 6, 1) == pytest.approx(0.55)
