"""Spanning trees against scipy, and chances of random roots against every combination."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree

from core.maths.spectra.forests import (
    NONE,
    nearest_of,
    random_root_chances,
    root_at_lowest,
    span_models,
)


def distances_of(points: np.ndarray) -> np.ndarray:
    return np.asarray(np.linalg.norm(points[:, None] - points[None], axis=2))


def test_a_spanning_tree_is_as_short_as_scipys() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 5, 17):
        distances = distances_of(rng.standard_normal((count, 3)))
        forest = span_models(distances, np.ones((count, count), bool))
        assert [len(tree) for tree in forest.trees] == [count]
        edges = {(a, b) for a, joined in enumerate(forest.neighbours) for b in joined if a < b}
        assert len(edges) == count - 1
        assert sum(distances[edge] for edge in edges) == pytest.approx(
            minimum_spanning_tree(distances).sum()
        )


def test_unrelated_models_are_not_joined() -> None:
    points = np.array([[0.0], [1.0], [1.5], [9.0]])
    related = np.ones((4, 4), bool)
    related[3] = related[:, 3] = False
    forest = span_models(distances_of(points), related)
    assert forest.trees == ((0, 1, 2), (3,))
    assert forest.neighbours == ((1,), (0, 2), (1,), ())


def test_a_tree_is_directed_away_from_the_lowest_value() -> None:
    forest = span_models(
        distances_of(np.array([[0.0], [1.0], [2.5], [4.5]])), np.ones((4, 4), bool)
    )
    assert root_at_lowest(forest, np.array([1.0, 2.0, 3.0, 4.0])) == [NONE, 0, 1, 2]
    assert root_at_lowest(forest, np.array([4.0, 3.0, 0.0, 2.0])) == [1, 2, NONE, 2]


def test_chances_of_random_roots_are_those_of_every_combination() -> None:
    rng = np.random.default_rng(1)
    related = np.zeros((8, 8), bool)
    related[:5, :5] = related[5:, 5:] = True
    forest = span_models(distances_of(rng.standard_normal((8, 2))), related)
    recorded = [NONE, 0, 0, 1, 3, NONE, 5, 5]
    chances = random_root_chances(forest, recorded)
    slow = np.zeros(len(chances))
    combinations = list(product(*forest.trees))
    for roots in combinations:
        parents = zip(forest.parents_from(roots), recorded, strict=True)
        slow[sum(NONE != truth == parent for parent, truth in parents)] += 1 / len(combinations)
    np.testing.assert_allclose(chances, slow)


def test_a_star_has_most_parents_from_any_root() -> None:
    leaves = 9
    points = np.vstack([np.zeros(leaves), np.eye(leaves)])
    forest = span_models(distances_of(points), np.ones((leaves + 1,) * 2, bool))
    chances = random_root_chances(forest, [NONE, *[0] * leaves])
    assert chances[leaves] == pytest.approx(1 / (leaves + 1))  # from the centre
    assert chances[leaves - 1] == pytest.approx(leaves / (leaves + 1))  # from any leaf


def test_the_nearest_model_is_another_one() -> None:
    assert nearest_of(distances_of(np.array([[0.0], [1.0], [5.0]]))) == [1, 0, 1]
    assert nearest_of(np.zeros((1, 1))) == [NONE]
