"""The judge: its axes, and the values of directions and layers joined."""

from __future__ import annotations

import numpy as np
import pytest

from core.maths.evaluation import judging
from core.maths.evaluation.judging import by_direction, by_layer, leading_axes


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_axes_of_wide_and_long_rows_are_those_of_a_whole_decomposition(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=shape) * np.linspace(4, 1, shape[1]) + 3
    whole = leading_axes(rows)
    monkeypatch.setattr(judging, "DECOMPOSED", 0)
    found = leading_axes(rows)
    np.testing.assert_allclose(np.abs((whole * found).sum(0)), 1, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1)


def fit(layers: int, checks: int, start: float = 0.0) -> dict[str, np.ndarray]:
    """A value of one direction."""
    return {
        "inn/nmse": start + np.arange(6.0 * layers).reshape(2, 3, layers),
        "inn/error": np.ones((2, layers, 5)),
        "inn/mapped": np.zeros((layers, 7, 2)),
        "inn/training": np.ones((checks, layers)),
        "inn/steps": 25 * np.arange(checks),
        "inn/left_out": 3,
    }


def test_directions_and_layers_join_along_their_axes_and_short_curves_are_filled() -> None:
    both = by_direction([fit(2, 3), fit(2, 4, 100.0)], 2)
    assert both["inn/nmse"].shape == (2, 2, 3, 2)
    assert both["inn/training"].shape == (2, 4, 2)
    assert np.isnan(both["inn/training"][0, 3]).all()
    later = by_direction([fit(1, 6), fit(1, 2)], 1)
    whole = by_layer([both, later])
    assert {name: np.shape(value) for name, value in whole.items()} == {
        "inn/nmse": (2, 2, 3, 3),
        "inn/error": (2, 2, 3, 5),
        "inn/mapped": (2, 3, 7, 2),
        "inn/training": (2, 6, 3),
        "inn/steps": (6,),
        "inn/left_out": (),
    }
    np.testing.assert_array_equal(whole["inn/nmse"][..., :2], both["inn/nmse"])
    one_way = by_layer([fit(2, 3), fit(1, 3)], directed=False)
    assert one_way["inn/mapped"].shape == (3, 7, 2)
    assert one_way["inn/error"].shape == (2, 3, 5)
    assert np.isfinite(whole["inn/training"][0, :, 2]).all()
    assert np.isnan(whole["inn/training"][1, 2:, 2]).all()


def test_a_stack_of_both_directions_is_cut_into_them() -> None:
    stack = fit(4, 3)
    both = by_direction([stack], 2)
    np.testing.assert_array_equal(both["inn/nmse"][1], stack["inn/nmse"][..., 2:])
    np.testing.assert_array_equal(both["inn/mapped"][0], stack["inn/mapped"][:2])
    assert both["inn/steps"].shape == (3,)


def test_what_one_of_the_fits_lacks_is_left_out() -> None:
    refused = {"inn/refused": "too narrow", "spread": np.ones((2, 1, 5))}
    value = by_layer([fit(1, 2) | refused, {"spread": np.ones((2, 1, 5))}])
    assert value.keys() == {"inn/refused", "inn/steps", "inn/left_out", "spread"}


def test_axes_of_rows_on_one_line_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "DECOMPOSED", 0)
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows = np.outer(rng.normal(size=12), rng.normal(size=40))
        assert np.linalg.norm(leading_axes(rows), axis=0).max() < 1.001
