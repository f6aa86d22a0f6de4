"""Known bijections: each form's block is undone by its inverse, and bends what a rotation does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from core.maths.maps import bijections
from core.maths.maps.bijections import FLAT, FORMS, QUADRATIC, STEEP, plant
from core.maths.maps.linear import Ols

D = 7
ROWS = np.random.default_rng(0).normal(size=(400, D))


def undo_monotone(bent: np.ndarray) -> np.ndarray:
    """By bisection, coordinate by coordinate."""
    low, high = np.full_like(bent, -50.0), np.full_like(bent, 50.0)
    for _ in range(80):
        middle = (low + high) / 2
        above = FLAT * middle + np.logaddexp(0.0, STEEP * middle) > bent
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low


def undo_triangular(bent: np.ndarray) -> np.ndarray:
    """One coordinate after another: what is added depends on those before it alone."""
    before = np.sqrt(np.maximum(np.arange(D), 1) * 2.0)
    weights = np.triu(np.random.default_rng(1).normal(size=(D, D)), 1) / before
    rows = bent.copy()
    for place in range(D):
        added = QUADRATIC * (rows[:, :place] ** 2 - 1) @ weights[:place, place]
        rows[:, place] = bent[:, place] - added
    return rows


def undo_inversion(bent: np.ndarray) -> np.ndarray:
    """An inversion in a sphere undoes itself."""
    away = np.random.default_rng(1).normal(size=D)
    away *= np.sqrt(D) / np.linalg.norm(away)
    return D * bent / (bent**2).sum(1, keepdims=True) + away


def undo_twist(bent: np.ndarray) -> np.ndarray:
    """Turn back by the same angles: the norm is unchanged."""
    angles = np.linalg.norm(bent, axis=1, keepdims=True) / np.sqrt(D)
    angles = angles * np.random.default_rng(1).normal(scale=bijections.TURN, size=D // 2)
    rows, (first, second) = bent.copy(), (bent[:, : D - 1 : 2], bent[:, 1 : D - 1 : 2])
    rows[:, : D - 1 : 2] = first * np.cos(angles) + second * np.sin(angles)
    rows[:, 1 : D - 1 : 2] = second * np.cos(angles) - first * np.sin(angles)
    return rows


UNDO = {
    "monotone": undo_monotone, "triangular": undo_triangular, "inversion": undo_inversion,
    "twist": undo_twist,
}  # fmt: skip


@pytest.mark.parametrize(("form", "undo"), UNDO.items())
def test_a_block_is_undone_by_its_inverse(
    form: str, undo: Callable[[np.ndarray], np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bijections, "_rotation", lambda d, rng: np.eye(d))
    monkeypatch.setattr(bijections, "_unit", lambda rows: rows)
    bent = FORMS[form](ROWS.copy(), 1, np.random.default_rng(1))
    assert np.abs(bent - ROWS).max() > 0.5
    np.testing.assert_allclose(undo(bent), ROWS, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_no_linear_map_undoes_a_form_and_any_undoes_a_rotation(form: str) -> None:
    for blocks, exact in ((0, True), (2, False)):
        bent = plant(ROWS, form, blocks, seed=0)
        assert np.isfinite(bent).all()
        error = ((Ols().fit(bent, ROWS).transform(bent) - ROWS) ** 2).sum() / (ROWS**2).sum()
        assert (error < 1e-12) == exact
        assert exact or error > 0.01
