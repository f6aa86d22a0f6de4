"""Decompositions that maps share: equal to those of each map by itself, in both directions."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.maps import linear
from core.maths.maps.linear import PENALTIES, Ridge, pseudo_inverse
from core.maths.maps.moments import moments, space_of
from core.maths.maps.registry import METHODS, make_aligner

EVERY = [name for name, method in METHODS.items() if method.kind == "linear"] + ["shuffled"]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    x = rng.normal(size=(2, 200, 6)) * (1 + np.arange(6)) + 2
    y = np.tanh(x) @ rng.normal(size=(6, 6)) + 0.1 * rng.normal(size=(2, 200, 6))
    return x[:, :150], y[:, :150], (x[:, 150:], y[:, 150:])


@pytest.mark.parametrize("name", EVERY)
def test_a_map_from_known_moments_is_the_map_from_rows_both_ways(
    name: str, rng: np.random.Generator
) -> None:
    x, y, held = rows(rng)
    known = moments(x, y)
    there = make_aligner(name, 0).fit_known(x, y, held, known).transform(held[0])
    np.testing.assert_allclose(there, make_aligner(name, 0).fit(x, y, held).transform(held[0]))
    turned = (held[1], held[0])
    back = make_aligner(name, 0).fit_known(y, x, turned, known.swapped).transform(held[1])
    np.testing.assert_allclose(back, make_aligner(name, 0).fit(y, x, turned).transform(held[1]))


def test_what_was_decomposed_one_way_is_not_decomposed_again(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, held = rows(rng)
    known = moments(x, y)
    for name in EVERY:
        make_aligner(name, 0).fit_known(x, y, held, known)
    turned = known.swapped
    for function in ("svd", "eigh"):
        monkeypatch.setattr(np.linalg, function, None)
    for name in EVERY:
        if name != "shuffled":  # its pairs are others
            make_aligner(name, 0).fit_known(y, x, held, turned)


def test_a_known_side_is_taken_for_the_rows(rng: np.random.Generator) -> None:
    x, y, _ = rows(rng)
    side = space_of(x)
    assert moments(x, y, side).x is side
    np.testing.assert_allclose(moments(x, y, side).xy, moments(x, y).xy)


def test_leading_directions_hold_nearly_all_variance_and_no_more_than_needed(
    rng: np.random.Generator,
) -> None:
    side = space_of(rng.normal(size=(5_000, 4)) * np.array([10.0, 5.0, 1.0, 0.3]))
    kept = side.leading.axes[0] > 0
    assert kept.tolist() == [False, False, True, True] or kept.sum() == 3
    whole, held = side.axes[0].sum(), side.leading.axes[0].sum()
    assert held >= 0.99 * whole
    assert held - side.leading.axes[0][kept].min() < 0.99 * whole
    np.testing.assert_allclose(np.linalg.eigvalsh(side.leading.covariance).sum(), held)


def test_the_penalty_is_the_one_with_the_least_error_on_validation_rows(
    rng: np.random.Generator,
) -> None:
    x, y, (held_x, held_y) = rows(rng)
    for noise in (0.0, 3.0, 300.0):
        noisy = y + noise * rng.normal(size=y.shape)
        found = Ridge().fit(x, noisy, (held_x, held_y))
        for layer in range(2):
            centred = x[layer] - x[layer].mean(0)
            covariance = centred.T @ centred / len(centred)
            unit = np.trace(covariance) / 6
            errors = []
            for penalty in PENALTIES:
                weight = np.linalg.solve(
                    covariance + penalty * unit * np.eye(6),
                    centred.T @ (noisy[layer] - noisy[layer].mean(0)) / len(centred),
                )
                mapped = (held_x[layer] - x[layer].mean(0)) @ weight + noisy[layer].mean(0)
                errors.append(((mapped - held_y[layer]) ** 2).sum())
            assert found.penalty[layer] == PENALTIES[int(np.argmin(errors))]


@pytest.mark.parametrize(
    "sizes", [(3.0, 2.0, 1.0), (3.0, 2.0, 1e-3), (3.0, 2.0, 1e-7), (3.0, 2.0, 0.0)]
)
def test_a_pseudo_inverse_leaves_out_what_is_too_small(
    sizes: tuple[float, ...], rng: np.random.Generator
) -> None:
    left, right = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
    found = pseudo_inverse(left @ np.diag(sizes) @ right)
    kept = [1 / size if size > 3e-5 else 0.0 for size in sizes]
    np.testing.assert_allclose(found, right.T @ np.diag(kept) @ left.T, atol=1e-9)


def test_a_pseudo_inverse_is_computed_once_for_all_rows(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, held = rows(rng)
    fitted = Ridge().fit(x, y, held)
    made = []
    monkeypatch.setattr(
        Ridge, "_invert", lambda self: made.append(1) or linear.pseudo_inverse(self.weight)
    )
    for _ in range(3):
        fitted.inverse_transform(fitted.transform(x))
    assert len(made) == 1
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(x)), x, atol=1e-6)
    fitted.fit(y, x, (held[1], held[0]))  # another map has another inverse
    np.testing.assert_allclose(fitted.inverse_transform(fitted.transform(y)), y, atol=1e-6)
