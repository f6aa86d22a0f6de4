"""Bands of probe scores: against a slow loop, with control trees, with two draws, within scales."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.structural.bands import ProbeScores, banded_sum

RESAMPLES = 4_000


def scored(points: np.ndarray, spread: float = 0.5, **scale: tuple[float, float]) -> ProbeScores:
    """Scores (layer, draw), each resampled around itself."""
    noise = np.random.default_rng(1).normal(0, spread, (RESAMPLES, 1, 1))
    layers = tuple(range(len(points)))
    return ProbeScores(layers, points, points + noise, points.mean(1), **scale)


def width(band: dict[str, np.ndarray]) -> np.ndarray:
    return band["high"] - band["low"]


@pytest.mark.parametrize(("shared", "freedom"), [(False, 14), (True, 2)])
def test_the_error_over_probes_has_the_freedom_of_what_was_drawn(
    shared: bool, freedom: int
) -> None:
    """Probes err alone in each layer; control trees move all layers, so that draws count once."""
    from scipy.stats import t

    points = 50 + np.random.default_rng(0).normal(0, 2, (7, 3))
    band = banded_sum((1, scored(points, 0.0).pooled(shared=shared)))
    pooled = np.mean([np.var(row, ddof=1) for row in points])
    expected = 2 * t.ppf(0.975, freedom) * np.sqrt(pooled / 3)
    assert width(band) == pytest.approx(expected, rel=0.12)
    assert band["value"] == pytest.approx(points.mean(1))


def test_a_layer_picked_from_many_keeps_the_spread_of_all() -> None:
    points = 50 + np.random.default_rng(0).normal(0, 2, (7, 3))
    whole = scored(points).pooled()
    picked = whole.only([4, 4, 4])
    assert (picked.sd, picked.freedom) == (whole.sd, whole.freedom) == (whole.sd, 14)
    alone = scored(points[4:5]).pooled().only([0] * 7)
    assert alone.freedom == 2, "a row named seven times is not seven rows"


def test_two_draws_of_control_trees_give_the_range_of_their_intervals() -> None:
    """Of one draw of 34 and one of 44, Student's t would say -13 to 91 per cent."""
    points = np.array([[34.4, 43.9]])
    chain = scored(points, 1.2, bounds=(0.0, 100.0)).pooled(shared=True)
    band = banded_sum((1, chain))
    ends = [np.quantile(chain.resampled[:, 0, draw], (0.025, 0.975)) for draw in (0, 1)]
    assert band["low"] == pytest.approx([ends[0][0]])
    assert band["high"] == pytest.approx([ends[1][1]])
    assert band["value"] == pytest.approx([39.15])
    real = scored(np.array([[60.0, 60.5, 59.5]]), 1.2)
    gap = banded_sum((1, real), (-1, chain))
    assert 60 - 44 - 4 < gap["low"][0] < 60 - 43.9 < 60 - 34.4 < gap["high"][0] < 60 - 34.4 + 4


def test_two_draws_of_seven_layers_are_an_error_like_any_other() -> None:
    points = 50 + np.random.default_rng(0).normal(0, 2, (7, 2))
    assert (width(banded_sum((1, scored(points, 0.0)))) > 3).all()


def test_a_band_stays_within_the_scale_and_a_difference_need_not() -> None:
    points = np.array([[99.0, 98.0, 99.9], [1.0, 0.2, 2.0]])
    near = scored(points, 3.0, bounds=(0.0, 100.0))
    band = banded_sum((1, near))
    assert band["high"][0] == 100.0
    assert band["low"][1] == 0.0
    against = banded_sum((1, near), (-1, near.only([1, 0])))
    assert against["low"][1] < -90


def test_one_probe_has_no_error_over_probes() -> None:
    alone = scored(np.array([[50.0]]), 1.0)
    band = banded_sum((1, alone))
    assert [band["low"][0], band["high"][0]] == pytest.approx(
        np.quantile(alone.resampled[:, 0, 0], (0.025, 0.975))
    )
