"""Kernel ridge from the static window: equal to a slow solution at each layer, and what it must
find."""

import numpy as np
import pytest

from core.maths.maps.kernel import squared_distances
from core.maths.maps.static import (
    LINEAR,
    PENALTIES,
    StaticKernel,
    beside,
    near_columns,
    reduced,
)
from core.vectors.window import static_window


@pytest.fixture
def text():
    """Layer 0 of random words, and two targets: the word's own vector bent, and its left
    neighbour's."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 4))
    words = rng.integers(0, 60, size=(80, 9))
    sentence, word = np.repeat(np.arange(80), 9), np.tile(np.arange(9), 80)
    vectors = table[words.ravel()].astype(np.float32)
    window = static_window(vectors, sentence, word, 2)
    left = window[:, 4:8]
    return window, np.stack(
        [np.tanh(vectors @ rng.normal(size=(4, 3))), left @ rng.normal(size=(4, 3))]
    )


def error(aligner, x, y, test):
    mapped = aligner.transform(np.broadcast_to(x[test], (len(y), len(test), x.shape[1])))
    spread = ((y[:, test] - y[:, test].mean(1, keepdims=True)) ** 2).sum((1, 2))
    return ((mapped - y[:, test]) ** 2).sum((1, 2)) / spread


def fitted(columns, x, y):
    train, held = np.arange(0, 500), np.arange(500, 600)
    rows = np.broadcast_to(x, (len(y), *x.shape))
    return StaticKernel(columns).fit(rows[:, train], y[:, train], (rows[:, held], y[:, held]))


@pytest.mark.slow
def test_a_word_alone_does_not_know_its_neighbour_and_a_window_does(text):
    x, y = text
    test = np.arange(600, 720)
    word, window = fitted((4,), x, y), fitted((12, 20), x, y)
    assert error(word, x, y, test)[0] < 0.2
    assert error(word, x, y, test)[1] > 0.9
    assert error(window, x, y, test)[1] < 0.01


def test_each_layer_has_the_map_of_its_own_closed_form(text):
    x, y = text
    aligner, test = fitted((4, 12), x, y), np.arange(600, 720)
    train = np.arange(500)
    mapped = aligner.transform(np.broadcast_to(x[test], (2, 120, 20)))
    layers = []
    for kernel, _, which in aligner.maps:
        centred = (x - x[train].mean(0)).astype(np.float32)[:, : kernel.columns]
        if kernel.width == LINEAR:
            k = lambda a, b, unit=kernel.unit: a @ b.T / unit  # noqa: E731
        else:
            k = lambda a, b, unit=kernel.width * kernel.unit: np.exp(  # noqa: E731
                -squared_distances(a, b) / unit
            )
        for layer in which:
            targets = y[layer, train] - y[layer, train].mean(0)
            inside = k(centred[train], centred[train]).astype(np.float64)
            penalty = aligner.penalty[layer]
            tried = [coarse * factor for coarse in PENALTIES for factor in (0.3, 1.0, 3.0)]
            assert np.isclose(penalty, tried).any()
            assert aligner.read[layer] == kernel.columns
            nearest = np.linalg.solve(inside + penalty * np.eye(500), targets)
            expected = k(centred[test], centred[train]) @ nearest + y[layer, train].mean(0)
            np.testing.assert_allclose(mapped[layer], expected, atol=2e-3)
            layers.append(layer)
    assert sorted(layers) == [0, 1]


def test_a_window_is_reduced_to_the_layers_width_by_its_training_rows():
    rng = np.random.default_rng(1)
    states, window, train = (
        rng.normal(size=(2, 50, 3)),
        rng.normal(size=(50, 15)) * 7,
        np.arange(30),
    )
    both = beside(states, near_columns(window, train, 3), train)
    assert both.shape == (2, 50, 6)
    np.testing.assert_allclose((both[:, train, :3] ** 2).sum(-1).mean(1), 1, rtol=1e-5)
    np.testing.assert_allclose((both[:, train, 3:] ** 2).sum(-1).mean(1), 1, rtol=1e-5)
    narrow = window[:, :2]
    np.testing.assert_array_equal(
        reduced(narrow, train, 3), (narrow - narrow[train].mean(0)).astype(np.float32)
    )


def test_components_are_the_same_from_rows_and_from_columns():
    """More columns than training rows, or fewer: the inner products of the rows on their leading
    components are those of the covariance's."""
    rng = np.random.default_rng(2)
    window = rng.normal(size=(50, 40)) * np.linspace(5, 1, 40)
    for train in (np.arange(30), np.arange(45)):
        centred = window - window[train].mean(0)
        axes = np.linalg.eigh(centred[train].T @ centred[train])[1][:, ::-1][:, :6]
        found, expected = reduced(window, train, 6), centred @ axes
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=1e-4, atol=1e-3)
    few = reduced(window, np.arange(5), 30)  # five rows have four components
    assert few.shape == (50, 4)
    assert np.isfinite(few).all()
