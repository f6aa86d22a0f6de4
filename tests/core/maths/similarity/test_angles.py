"""Angles between spaces: a metric, equal to its definition, with resamples near exact ones."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.similarity.angles import Space, aligned, angle, between
from core.maths.similarity.matching import procrustes
from core.maths.statistics import sentence_counts


def spaces(count: int, items: int = 60, width: int = 8, seed: int = 0) -> list[np.ndarray]:
    """Non-linear views of the same hidden points, with noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(items, 4))
    return [
        np.tanh(hidden @ rng.normal(size=(4, width + n)))
        + 0.3 * rng.normal(size=(items, width + n))
        for n in range(count)
    ]


def test_it_is_the_arccosine_of_the_nuclear_norm() -> None:
    x, y = spaces(2)
    centred = [space - space.mean(0) for space in (x, y)]
    singular = np.linalg.svd(centred[0].T @ centred[1], compute_uv=False)
    cosine = singular.sum() / np.prod([np.linalg.norm(space) for space in centred])
    assert angle(x, y) == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-8)
    assert np.cos(np.radians(angle(x, y))) == pytest.approx(procrustes(x, y), abs=1e-12)


def test_the_triangle_inequality_holds_and_a_rotation_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    for seed in range(40):
        x, y, z = spaces(3, items=12, seed=seed)
        assert angle(x, z) <= angle(x, y) + angle(y, z) + 1e-9
        turn = np.linalg.qr(rng.normal(size=(x.shape[1],) * 2))[0]
        assert angle(x, 3 * x @ turn + 1) == pytest.approx(0.0, abs=1e-5)
        assert angle(x @ turn, y) == pytest.approx(angle(x, y), abs=1e-9)


def test_a_constant_space_has_no_angle() -> None:
    (x,) = spaces(1)
    assert np.isnan(angle(x, np.ones_like(x)))


@pytest.mark.slow
def test_resamples_are_those_of_the_derivative_and_spread_as_exact_ones_do() -> None:
    """Weights that change little give the exact angle to first order; bootstrap counts spread as
    exact resamples do, within a fifth."""
    x, y = spaces(2, items=600)
    group = np.repeat(np.arange(150), 4)
    counts = sentence_counts(150, 200, np.random.default_rng(2))
    value, drawn = between(Space.of(x, group, counts), Space.of(y, group, counts))
    assert value == pytest.approx(angle(x, y))
    exact = []
    for count in counts:
        rows = np.concatenate([np.flatnonzero(group == g) for g in np.repeat(range(150), count)])
        exact.append(angle(x[rows], y[rows]))
    assert np.corrcoef(drawn, exact)[0, 1] > 0.9
    assert drawn.std() == pytest.approx(np.std(exact), rel=0.2)
    once = np.ones((1, 150), dtype=np.int64)
    assert between(Space.of(x, group, once), Space.of(y, group, once))[1][0] == pytest.approx(value)


def test_points_are_turned_onto_others() -> None:
    rng = np.random.default_rng(3)
    points = rng.normal(size=(9, 2))
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    assert np.allclose(aligned(points @ turn + 5, points), points)
