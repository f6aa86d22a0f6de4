"""Kernel ridge against the textbook's formula and scikit-learn, and bijections that no linear map
undoes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as Reference

from core.maths.maps import kernel
from core.maths.maps.bijections import FORMS, plant
from core.maths.maps.kernel import KernelRidge, predict, squared_distances
from core.maths.maps.linear import Ols
from tests.cases import exhaustive


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_squared_distances_of_large_norms_are_not_rounded_away(rng) -> None:
    rows = rng.normal(size=(40, 5)).astype(np.float32) + 3000
    slow = [[float(((a.astype(float) - b.astype(float)) ** 2).sum()) for b in rows] for a in rows]
    np.testing.assert_allclose(squared_distances(rows, rows), slow, rtol=1e-4, atol=1e-4)


def test_the_map_is_scikit_learns_at_the_width_and_penalty_chosen(rng) -> None:
    x, y = rng.normal(size=(1, 300, 4)), rng.normal(size=(1, 300, 3))
    y[..., 0] = np.sin(2 * x[..., 0])
    fitted = KernelRidge().fit(x[:, :250], y[:, :250], (x[:, 250:], y[:, 250:]))
    layer = fitted.layers[0]
    theirs = Reference(alpha=layer.penalty, kernel="rbf", gamma=1 / (layer.width * layer.unit))
    train, mean = x[0, :250], y[0, :250].mean(0)
    expected = theirs.fit(train, y[0, :250] - mean).predict(x[0, 250:]) + mean
    np.testing.assert_allclose(fitted.transform(x[:, 250:])[0], expected, atol=2e-3)


@pytest.mark.slow
def test_it_learns_what_no_linear_map_does_and_layers_do_not_disturb_each_other(rng) -> None:
    x = rng.normal(size=(2, 900, 3))
    y = np.stack([np.sin(2 * x[0]), x[1] ** 2])
    parts = slice(0, 700), slice(700, 800), slice(800, 900)
    train, held, test = parts
    both = (
        KernelRidge().fit(x[:, train], y[:, train], (x[:, held], y[:, held])).transform(x[:, test])
    )
    linear = Ols().fit(x[:, train], y[:, train]).transform(x[:, test])
    assert ((both - y[:, test]) ** 2).mean() < 0.1 * ((linear - y[:, test]) ** 2).mean()
    for layer in range(2):
        alone = KernelRidge().fit(
            x[layer, train], y[layer, train], (x[layer, held], y[layer, held])
        )
        np.testing.assert_allclose(alone.transform(x[layer, test]), both[layer], atol=1e-9)


def test_rows_beyond_memory_are_a_seeded_sample(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MOST_ROWS", 100)
    x = rng.normal(size=(1, 400, 3))
    first, again, other = (
        KernelRidge(seed).fit(x[:, :350], x[:, :350], (x[:, 350:], x[:, 350:]))
        for seed in (0, 0, 1)
    )
    assert len(first.layers[0].rows) == 100
    assert first.left_out == 250
    assert (first.layers[0].rows == again.layers[0].rows).all()
    assert not (first.layers[0].rows == other.layers[0].rows).all()


@pytest.mark.slow
@pytest.mark.parametrize("form", exhaustive(FORMS, "coupling"))
def test_a_planted_truth_is_a_rotation_without_blocks_and_bent_with_them(form: str, rng) -> None:
    rows = rng.normal(size=(1500, 6))
    for blocks in (0, 1, 3):
        bent = plant(rows, form, blocks, seed=3)
        residual = ((Ols().fit(bent, rows).transform(bent) - rows) ** 2).mean()
        assert residual < 1e-12 if blocks == 0 else residual > 3e-4
        apart = np.linalg.norm(rows[:, None] - rows[None], axis=-1)
        kept = np.linalg.norm(bent[:, None] - bent[None], axis=-1)
        np.fill_diagonal(kept, 1.0)
        assert kept[apart > 0.5].min() > 1e-3  # no two rows fall together: it can be undone


@pytest.mark.parametrize("others", [3, 40])
def test_either_order_of_the_products_predicts_the_same(rng, others: int) -> None:
    rows = rng.normal(size=(30, 4))
    inside, seen = rows @ rows.T, rng.normal(size=(others, 30))
    targets = rng.normal(size=(30, 10))
    expected = seen @ np.linalg.solve(inside + 0.5 * np.eye(30), targets)
    np.testing.assert_allclose(predict(inside, seen, targets, 0.5), expected, atol=1e-10)
