"""Statistics with their resamples, against slow loops."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.resampled import Resampled
from core.maths.statistics import bootstrap_interval, sentence_counts, t_interval

RNG = np.random.default_rng(0)
SENTENCES, DRAWS, LAYERS, CHANGES = 12, 40, 3, 4
TOTAL = RNG.integers(1, 9, SENTENCES)
COUNTS = sentence_counts(SENTENCES, DRAWS, RNG)
RIGHT = RNG.integers(0, TOTAL + 1, (LAYERS, SENTENCES))
RANDOM = RNG.integers(0, TOTAL + 1, (CHANGES, LAYERS, SENTENCES))
TRAINED = Resampled.of(RIGHT, TOTAL, COUNTS)
MEAN = Resampled.of(RANDOM, TOTAL, COUNTS).over_changes()


def share(right: np.ndarray, times: np.ndarray) -> float:
    """Right answers over all, with every sentence as often as it was drawn."""
    drawn = [number for number, count in enumerate(times) for _ in range(count)]
    return sum(int(right[number]) for number in drawn) / sum(int(TOTAL[number]) for number in drawn)


def test_scores_and_their_means_over_changes_are_those_of_a_slow_loop() -> None:
    once = np.ones(SENTENCES, dtype=int)
    for layer in range(LAYERS):
        assert TRAINED.value[layer] == pytest.approx(share(RIGHT[layer], once))
        shares = [share(RANDOM[change, layer], once) for change in range(CHANGES)]
        assert MEAN.value[layer] == pytest.approx(np.mean(shares))
        assert MEAN.changes is not None
        assert MEAN.changes[:, layer] == pytest.approx(shares)
        for draw, times in enumerate(COUNTS):
            assert TRAINED.resamples[draw, layer] == pytest.approx(share(RIGHT[layer], times))
            mean = np.mean([share(RANDOM[change, layer], times) for change in range(CHANGES)])
            assert MEAN.resamples[draw, layer] == pytest.approx(mean)


def test_a_difference_is_resampled_with_both_alike() -> None:
    """Sentences alone give a percentile interval, which what both share does not widen."""
    gap = TRAINED.mapped(lambda part: part - part[..., :1])
    value, low, high = gap.with_interval(0.9)
    for layer in range(LAYERS):
        apart = [share(RIGHT[layer], times) - share(RIGHT[0], times) for times in COUNTS]
        ends = bootstrap_interval(value[layer], apart, 0.9)
        assert (low[layer], high[layer]) == pytest.approx(tuple(map(float, ends)))
    nothing = (TRAINED - TRAINED).with_interval()
    assert not np.any(nothing)


def test_random_changes_are_a_second_source_of_error() -> None:
    for excess, sign in ((TRAINED - MEAN, 1), (MEAN - TRAINED, -1)):
        value, low, high = excess.with_interval(0.99)
        for layer in range(LAYERS):
            scores = [share(each[layer], np.ones(SENTENCES, dtype=int)) for each in RANDOM]
            gaps = [
                share(RIGHT[layer], times) - np.mean([share(each[layer], times) for each in RANDOM])
                for times in COUNTS
            ]
            variances = [np.var(gaps), np.var(scores, ddof=1) / CHANGES]
            degrees = [SENTENCES - 1, CHANGES - 1]
            assert value[layer] == pytest.approx(sign * (TRAINED.value - MEAN.value)[layer])
            ends = t_interval(value[layer], variances, degrees, 0.99)
            assert (low[layer], high[layer]) == pytest.approx(tuple(map(float, ends)))


def test_random_changes_of_both_are_paired() -> None:
    shifted = MEAN.mapped(lambda part: part + 0.1)
    gap = shifted - MEAN
    assert gap.changes == pytest.approx(np.full((CHANGES, LAYERS), 0.1))
    _, low, high = gap.with_interval()
    assert low == pytest.approx(high)


def test_one_change_has_no_spread_and_students_t_over_sentences() -> None:
    once = Resampled.of(RANDOM[:1], TOTAL, COUNTS).over_changes()
    several = (MEAN - once).changes
    assert several is not None
    assert several.std(axis=0) == pytest.approx(MEAN.changes.std(axis=0))  # type: ignore[union-attr]
    value, low, high = once.at(0).with_interval()
    ends = t_interval(value, [once.resamples[:, 0].var()], [SENTENCES - 1])
    assert (low, high) == pytest.approx(tuple(map(float, ends)))


def test_columns_of_one_place_are_numbers() -> None:
    for each in (TRAINED.at(0), MEAN.at(0), TRAINED.at(0) - MEAN.at(0)):
        assert all(isinstance(number, float) for number in each.with_interval())
