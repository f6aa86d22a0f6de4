"""Closed-form maps against scipy, numpy's lstsq and planted truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

from core.errors import ShapeError
from core.maths.maps.cca import Cca, Pwcca, Svcca, canonical_directions
from core.maths.maps.controls import Lookup
from core.maths.maps.linear import Aligner, Identity, Ols, Procrustes, Ridge
from core.maths.maps.moments import moments

LINEAR = [Procrustes(), Procrustes(scale=True), Ols(), Ridge(), Cca(), Svcca(), Pwcca()]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def mse(aligner: Aligner, x: np.ndarray, y: np.ndarray) -> float:
    return float(((aligner.transform(x) - y) ** 2).mean())


def rotation(rng: np.random.Generator, d: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def test_ols_equals_lstsq(rng) -> None:
    x, y = rng.normal(size=(300, 20)) + 3, rng.normal(size=(300, 15)) - 2
    xc, yc = x - x.mean(0), y - y.mean(0)
    expected = np.linalg.lstsq(xc, yc, rcond=None)[0]
    np.testing.assert_allclose(Ols().fit(x, y).weight, expected, atol=1e-10)


def test_procrustes_equals_scipy(rng) -> None:
    x, y = rng.normal(size=(200, 12)), rng.normal(size=(200, 12))
    expected, spread = orthogonal_procrustes(x - x.mean(0), y - y.mean(0))
    np.testing.assert_allclose(Procrustes().fit(x, y).weight, expected, atol=1e-10)
    scaled = Procrustes(scale=True).fit(x, y).weight
    np.testing.assert_allclose(scaled, expected * spread / ((x - x.mean(0)) ** 2).sum(), atol=1e-10)


def test_layers_fitted_together_equal_layers_fitted_alone(rng) -> None:
    x, y = rng.normal(size=(3, 200, 10)), rng.normal(size=(3, 200, 10))
    held = (rng.normal(size=(3, 50, 10)), rng.normal(size=(3, 50, 10)))
    for aligner in LINEAR:
        together = aligner.fit(x, y, held).weight.copy()
        for layer in range(3):
            alone = aligner.fit(x[layer], y[layer], (held[0][layer], held[1][layer])).weight
            np.testing.assert_allclose(together[layer], alone, atol=1e-8)


def test_planted_linear_map_reaches_the_noise_floor(rng) -> None:
    truth = rng.normal(size=(16, 16))
    x, test = rng.normal(size=(4000, 16)), rng.normal(size=(4000, 16))
    sigma = 0.5
    y, y_test = (
        x @ truth + sigma * rng.normal(size=x.shape),
        test @ truth + sigma * rng.normal(size=x.shape),
    )
    assert mse(Ols().fit(x, y), test, y_test) < 1.05 * sigma**2


def test_planted_rotation_favours_procrustes_at_small_n(rng) -> None:
    turn = rotation(rng, 32)
    x, test = rng.normal(size=(60, 32)), rng.normal(size=(1000, 32))
    y, y_test = x @ turn + rng.normal(size=x.shape), test @ turn + rng.normal(size=test.shape)
    assert mse(Procrustes().fit(x, y), test, y_test) <= mse(Ols().fit(x, y), test, y_test)


def test_cca_is_never_better_than_ols_in_training_and_equals_it_at_full_rank(rng) -> None:
    x = rng.normal(size=(500, 20)) @ rng.normal(size=(20, 20))
    y = np.tanh(x[:, :14]) @ rng.normal(size=(14, 14)) + 0.3 * rng.normal(size=(500, 14))
    best = mse(Ols().fit(x, y), x, y)
    assert mse(Cca().fit(x, y, (x[:40], y[:40])), x, y) >= best - 1e-12
    np.testing.assert_allclose(mse(Cca().fit(x, y), x, y), best, rtol=1e-6)
    np.testing.assert_allclose(Cca().fit(x, y).weight, Ols().fit(x, y).weight, atol=1e-6)


def test_canonical_correlations_equal_those_of_whitened_rows(rng) -> None:
    x = rng.normal(size=(400, 8))
    y = x[:, :5] + rng.normal(size=(400, 5))
    qx, qy = np.linalg.qr(x - x.mean(0))[0], np.linalg.qr(y - y.mean(0))[0]
    expected = np.linalg.svd(qx.T @ qy, compute_uv=False)
    np.testing.assert_allclose(
        canonical_directions(moments(x, y)).correlations, expected, atol=1e-10
    )


def test_cca_chooses_its_rank_on_validation_rows(rng) -> None:
    """One shared direction, thirty-one of noise, few rows: the validated rank must beat full rank
    on fresh rows."""

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.normal(size=(n, 32))
        return x, np.outer(x[:, 0], np.ones(32)) + rng.normal(size=(n, 32))

    (x, y), held, (test, y_test) = draw(64), draw(200), draw(2000)
    assert mse(Cca().fit(x, y, held), test, y_test) < 0.8 * mse(Cca().fit(x, y), test, y_test)


def test_svcca_ignores_directions_below_one_per_cent(rng) -> None:
    x = rng.normal(size=(1000, 6)) * np.array([10, 10, 10, 10, 10, 0.1])
    y = x.copy()
    prediction = Svcca().fit(x, y).transform(x)
    np.testing.assert_allclose(prediction[:, :5], y[:, :5], atol=0.5)
    assert prediction[:, 5].var() < 0.05 * y[:, 5].var()


def test_pwcca_keeps_everything_when_weights_are_even(rng) -> None:
    x = rng.normal(size=(800, 10))
    y = x @ rotation(rng, 10)
    np.testing.assert_allclose(Pwcca().fit(x, y).transform(x), y, atol=1e-6)


def test_shuffled_pairs_score_at_least_one(rng) -> None:
    x = rng.normal(size=(3000, 16))
    y = x @ rotation(rng, 16)
    y = y[rng.permutation(len(y))]
    train, held, test = slice(0, 1500), slice(1500, 2000), slice(2000, 3000)
    variance = float(((y[test] - y[train].mean(0)) ** 2).mean())
    ridge = Ridge().fit(x[train], y[train], (x[held], y[held]))
    assert mse(Ols().fit(x[train], y[train]), x[test], y[test]) / variance >= 1
    assert mse(ridge, x[test], y[test]) / variance == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("aligner", LINEAR, ids=lambda a: type(a).__name__)
def test_a_space_against_itself_is_recovered_and_inverted(aligner: Aligner, rng) -> None:
    x = rng.normal(size=(600, 12)) * np.linspace(1, 3, 12) + 5
    aligner.fit(x, x, (x, x))
    assert mse(aligner, x, x) / x.var(0).mean() < 1e-3
    if not isinstance(aligner, Ridge):
        np.testing.assert_allclose(aligner.inverse_transform(aligner.transform(x)), x, atol=1e-6)


def test_constant_dimensions_are_harmless(rng) -> None:
    x, y = rng.normal(size=(200, 8)), rng.normal(size=(200, 8))
    x[:, 3], y[:, 5] = 2.0, -1.0
    for aligner in LINEAR:
        assert np.isfinite(aligner.fit(x, y, (x, y)).transform(x)).all(), aligner


def test_different_widths(rng) -> None:
    x, y = rng.normal(size=(200, 8)), rng.normal(size=(200, 5))
    for aligner in (Identity(), Procrustes()):
        with pytest.raises(ShapeError, match="equal width"):
            aligner.fit(x, y)
    for other in (Ols(), Ridge(), Cca(), Svcca(), Pwcca()):
        assert other.fit(x, y, (x, y)).transform(x).shape == y.shape


def test_identity_is_the_rows_themselves(rng) -> None:
    x = rng.normal(size=(10, 4))
    identity = Identity().fit(x, x)
    assert (identity.transform(x) == x).all()
    assert (identity.inverse_transform(x) == x).all()


def test_bad_input_is_one_sentence(rng) -> None:
    x = rng.normal(size=(10, 4))
    with pytest.raises(ShapeError, match="same layers and rows"):
        Ols().fit(x, x[:9])
    with pytest.raises(ShapeError, match="at least two"):
        Ols().fit(x[:1], x[:1])
    with pytest.raises(ShapeError, match="NaN"):
        Ols().fit(x, np.full_like(x, np.nan))
    with pytest.raises(ShapeError, match="no inverse"):
        Lookup().inverse_transform(x)
