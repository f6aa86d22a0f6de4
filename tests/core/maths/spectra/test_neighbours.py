"""Neighbours: a slow count, exact chance, permuted labels, ties, leave-one-out predictions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.spectra.neighbours import (
    attainable_shares,
    calc_neighbour_shares,
    chance_share,
    count_votes,
    neighbour_weights,
    predict_labels,
)

LABELS = ["a"] * 3 + ["b"] * 3 + ["c"] * 3


def distances_of(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def random_distances(models: int, seed: int = 0) -> np.ndarray:
    return distances_of(np.random.default_rng(seed).normal(size=(models, 5)))


def slow_share(distances: np.ndarray, labels: list[str], k: int) -> float:
    hits = 0
    for model in range(len(labels)):
        others = sorted(
            (o for o in range(len(labels)) if o != model), key=lambda o: distances[model, o]
        )
        hits += sum(labels[other] == labels[model] for other in others[:k])
    return hits / (k * len(labels))


def test_shares_equal_a_slow_count() -> None:
    distances = random_distances(9)
    result = calc_neighbour_shares(distances, LABELS, 8, 50, np.random.default_rng(0))
    for k in range(1, 9):
        assert result.share[k - 1] == pytest.approx(slow_share(distances, LABELS, k))
    assert result.share[-1] == pytest.approx(
        result.chance
    )  # all the others are neighbours: chance, exactly


def test_the_attainable_share_is_that_of_perfect_groups() -> None:
    """Unequal groups, far apart: no neighbour of another label comes before one of the same."""
    labels = ["a"] * 4 + ["b"] * 2 + ["c"]
    centres = {"a": 0.0, "b": 100.0, "c": 1000.0}
    points = np.array([[centres[label], number] for number, label in enumerate(labels)])
    slow = [slow_share(distances_of(points), labels, k) for k in range(1, 7)]
    np.testing.assert_allclose(attainable_shares(labels, 6), slow)


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


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "exact"), [((3, 3, 3), False), ((3, 3, 2), True), ((2, 2), True), ((3, 3), True)]
)
def test_p_values_of_shuffled_labels_are_uniform(sizes: tuple[int, ...], exact: bool) -> None:
    """The level of the test: labels that mean nothing reach p <= a with probability a, and never
    more often.

    A share takes few values, so that few p-values exist: below a they hold the level, at each that
    exists they meet it.
    """
    rng = np.random.default_rng(5)
    labels = [str(group) for group, size in enumerate(sizes) for _ in range(size)]
    times, permuted = 400, 5000 if exact else 300
    values, inside = np.empty(times), 0
    for draw in range(times):
        distances = random_distances(len(labels), seed=draw)
        result = calc_neighbour_shares(distances, list(rng.permutation(labels)), 2, permuted, rng)
        values[draw] = result.p_value[1]
        inside += int(result.low[1] - 1e-9 <= result.share[1] <= result.high[1] + 1e-9)
    assert inside / times >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / times)
    for level in (0.01, 0.05, 0.1, 0.25, 0.5):
        reached = float(np.mean(values <= level))
        error = np.sqrt(level * (1 - level) / times)
        assert reached <= level + 3 * error
    # Discrete, but not timid: its mean is 1/2 and half of the probability of a tie, which few
    # models have often.
    assert 0.5 <= values.mean() <= (0.7 if len(labels) > 6 else 0.8)


def slow_p_values(distances: np.ndarray, labels: list[str], k: int) -> tuple[float, float]:
    """The p-value of these labels and the smallest of any, over every order of them."""
    shares = np.array([slow_share(distances, list(order), k) for order in permutations(labels)])
    own = slow_share(distances, labels, k)
    return float(np.mean(shares >= own - 1e-9)), float(np.mean(shares >= shares.max() - 1e-9))


@pytest.mark.parametrize("labels", ["aabb", "aabbb", "aabbc", "aabbcc"])
@pytest.mark.parametrize("k", [1, 2])
def test_few_models_have_exact_p_values_and_a_smallest_one(labels: str, k: int) -> None:
    for seed in range(3):
        distances = random_distances(len(labels), seed)
        result = calc_neighbour_shares(distances, list(labels), 3, 1000, np.random.default_rng(0))
        expected = slow_p_values(distances, list(labels), k)
        assert (result.p_value[k - 1], result.smallest_p[k - 1]) == pytest.approx(expected)


def test_the_smallest_p_value_is_reached_by_plain_groups() -> None:
    """Two pairs far apart: of the three ways to pair four models one is theirs, so no p-value is
    below a third."""
    points = np.array([[0.0], [0.1], [9.0], [9.1]])
    result = calc_neighbour_shares(
        distances_of(points), list("aabb"), 1, 1000, np.random.default_rng(0)
    )
    assert result.p_value[0] == result.smallest_p[0] == pytest.approx(1 / 3)
    many = calc_neighbour_shares(
        random_distances(18), [str(i // 3) for i in range(18)], 2, 500, np.random.default_rng(0)
    )
    assert many.smallest_p[1] < 0.05


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


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_votes_are_those_of_a_loop_over_all_arrangements(k: int) -> None:
    labels = ["a", "a", "b", "b", "c", "c"]
    grid = np.array([[0.0], [1.0], [2.0], [3.0], [5.0], [9.0]])  # distances tie
    distances = distances_of(grid)

    def right(given: tuple[str, ...]) -> int:
        guesses = predict_labels(distances, list(given), k)
        return sum(each.predicted == label for each, label in zip(guesses, given, strict=True))

    counts = [right(given) for given in sorted(set(permutations(labels)))]
    vote = count_votes(distances, labels, k, 1000, np.random.default_rng(0))
    assert vote.right == right(tuple(labels))
    assert vote.expected == pytest.approx(np.mean(counts))
    assert vote.p_value == pytest.approx(np.mean(np.array(counts) >= vote.right))


def test_a_vote_of_random_models_is_right_as_often_as_chance_says() -> None:
    labels = [group for group in "abcdef" for _ in range(3)]
    vote = count_votes(random_distances(18), labels, 2, 4000, np.random.default_rng(0))
    assert vote.expected == pytest.approx(18 * chance_share(labels), abs=0.1)
    assert vote.p_value > 0.05
    with pytest.raises(ShapeError, match="as many labels"):
        count_votes(random_distances(4), labels, 2, 5, np.random.default_rng(0))


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
