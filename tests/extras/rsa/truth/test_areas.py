"""AUCs over layers: the textbook's number, bands over fine-tunes, ends that hold together."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from core.maths.ranks import area
from extras.rsa.truth.areas import (
    area_at_equal_depth,
    area_band,
    area_replicates,
    expit,
    logit,
    lows_together,
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


def tuned(sizes: list[float], seed: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Alike masks and layers: what differs is how far each fine-tune moved."""
    drawn = np.random.default_rng(seed)
    mask = drawn.random((len(sizes), 3, 7)) < 0.5
    truth = np.stack([mask, ~mask], axis=2).reshape(len(sizes), 6, 7)
    return truth, truth * np.array(sizes)[:, None, None] + drawn.standard_normal(truth.shape)


def test_a_replicate_leaves_a_fine_tune_out_with_its_planted_models() -> None:
    truth, score = tuned([0.5, 1.0, 2.0])
    rest = [area(truth[kept].ravel(), score[kept].ravel()) for kept in ([1, 2], [0, 2], [0, 1])]
    assert area_replicates(truth, score) == pytest.approx([logit(value) for value in rest])


def test_the_band_covers_differences_between_fine_tunes() -> None:
    bands = []
    for sizes in ([0.0, 0.5, 1.5, 3.0, 6.0], [2.0] * 5):
        truth, score = tuned(sizes)
        value = area(truth.ravel(), score.ravel())
        low, high = area_band(value, area_replicates(truth, score))
        assert 0.0 < low < value < high < 1.0
        bands.append(high - low)
    assert bands[0] > 2 * bands[1]


def test_a_perfect_area_has_a_band_that_holds_it() -> None:
    truth, score = tuned([50.0] * 4)
    assert area_band(1.0, area_replicates(truth, score)) == pytest.approx((1.0 - 1e-4, 1.0))
    assert np.isnan(area_band(0.7, np.array([0.3]))).all()


def test_lower_ends_together_are_those_of_one_test_for_copies_and_lower_for_others() -> None:
    truth, score = tuned([0.3, 0.5, 1.0, 0.8, 0.6, 0.4])
    value = area(truth.ravel(), score.ravel())
    replicates = area_replicates(truth, score)
    alone, _ = area_band(value, replicates)
    copies = lows_together(np.full(9, value), np.tile(replicates, (9, 1)), 0)
    assert copies == pytest.approx(np.full(9, alone), abs=0.003)
    rng = np.random.default_rng(1)
    unlike = np.array([rng.permutation(replicates) for _ in range(9)])
    several = lows_together(np.full(9, value), unlike, 0)
    error = (logit(value) - logit(alone)) / stats.t.ppf(0.975, 5)
    bonferroni = expit(logit(value) - error * stats.t.ppf(1 - 0.025 / 9, 5))
    assert (bonferroni < several).all()
    assert (several < alone - 0.01).all()
