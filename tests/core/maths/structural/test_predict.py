"""Predicted trees, and everything that is drawn of one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.structural.predict import (
    predict_depths,
    predict_distances,
    predicted_tree,
    shallowest,
    view_sentence,
)
from core.maths.trees import tree_depths, tree_distances, validate_heads
from tests.core.studies.probes.planted import orthonormal_rows, planted_vectors, random_heads

RNG = np.random.default_rng(0)
BASIS = orthonormal_rows(16, 24, RNG)


def test_every_sentence_is_predicted_under_its_layers_map_whatever_its_length() -> None:
    lengths = np.array([3, 1, 5, 3])
    vectors, maps = RNG.normal(size=(12, 2, 6)).astype(np.float16), RNG.normal(size=(2, 4, 6))
    distances, depths = (
        predict_distances(maps, vectors, lengths),
        predict_depths(maps, vectors, lengths),
    )
    start = 0
    for sentence, n in enumerate(lengths):
        for layer in range(2):
            points = vectors[start : start + n, layer].astype(float) @ maps[layer].T
            slow = ((points[:, None] - points[None]) ** 2).sum(-1)
            assert np.allclose(distances[sentence][layer], slow, atol=1e-3)
            assert np.allclose(depths[sentence][layer], (points**2).sum(-1), rtol=1e-4)
        start += n
    with pytest.raises(ShapeError, match=f"{len(maps)} maps"):
        predict_distances(maps, vectors[1:], lengths)


def test_a_planted_sentence_is_drawn_as_it_is() -> None:
    heads = random_heads(RNG, 9, 9)
    vectors = planted_vectors(heads, 16, RNG) @ BASIS
    keep = np.ones(9, dtype=bool)
    view = view_sentence([f"w{i}" for i in range(9)], heads, keep, vectors, BASIS, BASIS)
    assert view.uuas == 1.0
    assert (view.missed, view.invented) == ([], [])
    assert view.predicted_heads == heads
    assert view.depths is not None
    assert np.allclose(view.distances, tree_distances(heads), atol=1e-4)
    assert np.allclose(view.depths, tree_depths(heads), atol=1e-4)
    assert view.points.shape == (9, 2)
    assert 0 < view.explained[1] <= view.explained[0] <= 1


def test_missed_and_invented_edges_are_told_apart() -> None:
    chain, star = (0, 1, 2, 3), (0, 1, 1, 1)
    vectors = planted_vectors(chain, 16, RNG) @ BASIS
    view = view_sentence(list("abcd"), star, np.ones(4, dtype=bool), vectors, BASIS, None)
    assert view.agreed == [(0, 1)]
    assert view.missed == [(0, 2), (0, 3)]
    assert view.invented == [(1, 2), (2, 3)]
    assert view.uuas == pytest.approx(1 / 3)
    assert view.adjacent == 1, "the star's edge of the first two words"
    assert view.depths is None
    assert view.predicted_heads == chain


def test_punctuation_hangs_from_its_nearest_word_and_is_never_the_root() -> None:
    distances = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    keep = np.array([True, True, False, True])
    heads = predicted_tree(distances, keep, 1)
    validate_heads(heads)
    assert heads == (2, 0, 2, 2)
    assert shallowest(np.array([3.0, 2.0, 0.0, 1.0]), keep) == 3
    with pytest.raises(ShapeError, match="cannot be the root"):
        predicted_tree(distances, keep, 2)


@pytest.mark.parametrize("words", [("Hello",), ("?", "!"), ("a", "a", "a")])
def test_short_and_odd_sentences_have_a_picture(words: tuple[str, ...]) -> None:
    n = len(words)
    keep = np.array([word.isalpha() for word in words])
    view = view_sentence(words, tuple(range(n)), keep, np.zeros((n, 24)), BASIS, BASIS)
    assert np.isfinite(view.points).all()
    validate_heads(view.predicted_heads)
    assert view.uuas == 1.0 if n == 3 else np.isnan(view.uuas)


def test_lists_of_unequal_length_are_refused() -> None:
    with pytest.raises(ShapeError, match="as many heads"):
        view_sentence(["a"], (0,), np.array([True]), np.zeros((2, 24)), BASIS, None)
