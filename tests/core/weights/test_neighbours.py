"""Neighbours: a slow count, exact chance, permuted labels, ties, leave-one-out predictions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from core.errors import ShapeError
from core.weights.neighbours import calc_neighbour_shares, chance_share, neighbour_weights, predict_labels

LABELS = ["a"] * 3 + ["b"] * 3 + ["c"] * 3


def distances_of(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def random_distances(models: int, seed: int = 0) -> np.ndarray:
    return distances_of(np.random.default_rng(seed).normal(size=(models, 5)))


def slow_share(distances: np.ndarray, labels: list[str], k: int) -> float:
    hits = 0
    for model in range(len(labels)):
        others = sorted((o for o in range(len(labels)) if o != model), key=lambda o: distances[model, o])
        hits += sum(labels[other] == labels[model] for other in others[:k])
    return hits / (k * len(labels))


def test_shares_equal_a_slow_count() -> None:
    distances = random_distances(9)
    result = calc_neighbour_shares(distances, LABELS, 8, 50, np.random.default_rng(0))
    for k in range(1, 9):
        assert result.share[k - 1] == pytest.approx(slow_share(distances, LABELS, k))
    assert result.share[-1] == pytest.approx(result.chance)  # all the others are neighbours: chance, exactly


def test_chance_is_what_equal_groups_say() -> None:
    assert chance_share(LABELS) == pytest.approx((3 - 1) / (3 * 3 - 1))
    groups, members = 6, 3
    labels = [str(group) for group in range(groups) for _ in range(members)]
    assert chance_share(labels) == pytest.approx((members - 1) / (groups * members - 1))


def test_chance_is_exact_for_unequal_groups() -> None:
    """The mean over every permutation of the labels, for every k."""
    labels = ["a", "a", "a", "b", "b", "c"]
    distances = random_distances(6)
    for k in (1, 2, 4):
        mean = np.mean([slow_share(distances, list(order), k) for order in permutations(labels)])
        assert chance_share(labels) == pytest.approx(mean)


def test_permuted_labels_score_chance_within_its_interval() -> None:
    rng = np.random.default_rng(1)
    labels = [str(group) for group in range(6) for _ in range(3)]
    distances = random_distances(18)
    inside, values = 0, []
    for _ in range(60):
        result = calc_neighbour_shares(distances, list(rng.permutation(labels)), 2, 300, rng)
        inside += int(result.low[1] <= result.share[1] <= result.high[1])
        values.append(result.p_value[1])
    assert inside >= 52
    assert 0.3 < np.mean(values) < 0.8


def test_clear_groups_are_found_beyond_chance() -> None:
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(6, 4)) * 10, 3, axis=0) + rng.normal(size=(18, 4)) * 0.1
    labels = [str(group) for group in range(6) for _ in range(3)]
    result = calc_neighbour_shares(distances_of(points), labels, 2, 2000, rng)
    assert result.share == pytest.approx([1, 1])
    assert result.p_value == pytest.approx([1 / 2001] * 2)
    assert [p.predicted for p in predict_labels(distances_of(points), labels, 2)] == labels


def test_ties_share_the_places_left() -> None:
    distances = np.ones((4, 4)) - np.eye(4)
    weights = neighbour_weights(distances, 2)
    np.testing.assert_allclose(weights[0][~np.eye(4, dtype=bool)], 1 / 3)
    np.testing.assert_allclose(weights[1].sum(1), 2)
    labels = ["a", "a", "b", "b"]
    result = calc_neighbour_shares(distances, labels, 2, 10, np.random.default_rng(0))
    np.testing.assert_allclose(result.share, chance_share(labels))
    assert result.p_value == pytest.approx([1.0, 1.0])


def test_the_order_of_models_is_no_matter() -> None:
    distances = random_distances(9)
    order = np.random.default_rng(3).permutation(9)
    one = calc_neighbour_shares(distances, LABELS, 3, 5, np.random.default_rng(0)).share
    two = calc_neighbour_shares(
        distances[np.ix_(order, order)], [LABELS[i] for i in order], 3, 5, np.random.default_rng(0)
    ).share
    np.testing.assert_allclose(one, two)


def test_predictions_break_ties_by_the_nearest() -> None:
    points = np.array([[0.0], [1.0], [-1.5], [50.0]])
    predictions = predict_labels(distances_of(points), ["a", "b", "c", "a"], 2)
    assert predictions[0].predicted == "b"
    assert predictions[0].votes == 0.5
    assert (predictions[0].nearest, predictions[0].distance) == (1, 1.0)


@pytest.mark.parametrize(
    ("models", "labels", "k", "reason"),
    [
        (4, ["a", "b", "b"], 1, "as many labels"),
        (2, ["a", "b"], 1, "3 models"),
        (3, ["a", "a", "a"], 1, "2 labels"),
        (3, ["a", "b", "b"], 3, "1 to 2 neighbours"),
        (3, ["a", "b", "b"], 0, "1 to 2 neighbours"),
    ],
)
def test_bad_input_is_refused(models: int, labels: list[str], k: int, reason: str) -> None:
    with pytest.raises(ShapeError, match=reason):
        calc_neighbour_shares(random_distances(models), labels, k, 5, np.random.default_rng(0))


def test_distances_that_are_not_finite_are_refused() -> None:
    with pytest.raises(ShapeError, match="finite"):
        neighbour_weights(np.full((3, 3), np.nan), 1)
    with pytest.raises(ShapeError, match="as many labels"):
        predict_labels(random_distances(4), ["a"], 1)
