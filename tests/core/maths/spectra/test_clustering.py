"""Clusters, dendrograms and scores on groups that are plain to see, and on none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from core.errors import ShapeError
from core.maths.spectra.clustering import (
    METHODS,
    build_dendrogram,
    chance_information,
    cluster_models,
    score_clusters,
)

LABELS = ["a"] * 4 + ["b"] * 4 + ["c"] * 4


@pytest.fixture(scope="module")
def distances() -> np.ndarray:
    rng = np.random.default_rng(0)
    points = np.repeat(np.eye(3) * 10, 4, axis=0) + rng.normal(size=(12, 3)) * 0.2
    order = rng.permutation(12)  # so that nothing depends on the order
    return np.linalg.norm(points[:, None] - points[None], axis=2)[
        np.ix_(np.argsort(order), np.argsort(order))
    ][np.ix_(order, order)]


@pytest.mark.parametrize("method", METHODS)
def test_plain_groups_are_found(distances: np.ndarray, method: str) -> None:
    clusters = cluster_models(distances, method, 3)
    agreement, information = score_clusters(LABELS, clusters.tolist())
    least = (
        1 - 1e-9 if method == "agglomerative" else 0.8
    )  # HDBSCAN may leave a model out of its group
    assert agreement >= least
    assert information >= least


def test_agglomerative_gives_as_many_clusters_as_asked(distances: np.ndarray) -> None:
    for count in (1, 2, 5, 12):
        assert len(set(cluster_models(distances, "agglomerative", count))) == count


def test_equal_distances_still_give_as_many_as_asked() -> None:
    flat = np.ones((6, 6)) - np.eye(6)
    assert len(set(cluster_models(flat, "agglomerative", 3))) == 3


def test_the_dendrogram_joins_everything_from_the_bottom_up(distances: np.ndarray) -> None:
    order, joins = build_dendrogram(distances)
    assert sorted(order) == list(range(12))
    assert joins.shape == (11, 5)
    assert (joins[:, 4] >= joins[:, [1, 3]].max(1)).all()
    assert (joins[:, 0] < joins[:, 2]).all()
    groups = [LABELS[model] for model in order]
    assert sum(one != two for one, two in pairwise(groups)) == 2  # groups stay together


@pytest.mark.slow
def test_random_clusters_score_nothing_by_ari_and_something_by_nmi() -> None:
    rng = np.random.default_rng(0)
    scores = np.array(
        [score_clusters(LABELS, rng.integers(3, size=12).tolist()) for _ in range(200)]
    )
    assert abs(scores[:, 0].mean()) < 0.03
    assert scores[:, 1].mean() > 0.1
    assert chance_information(LABELS, [0] * 4 + [1] * 4 + [2] * 4, 100, rng) == pytest.approx(
        0.25, abs=0.08
    )


def test_scores_equal_those_of_scikit_learn() -> None:
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    rng = np.random.default_rng(2)
    for groups in (1, 2, 4, 12):
        clusters = rng.integers(groups, size=12)
        expected = (
            adjusted_rand_score(LABELS, clusters),
            normalized_mutual_info_score(LABELS, clusters),
        )
        assert score_clusters(LABELS, clusters.tolist()) == pytest.approx(expected)
    assert score_clusters(["a"] * 4, [0] * 4) == (1, 1)


def test_outliers_are_clusters_of_their_own() -> None:
    everything_out = score_clusters(LABELS, [-1] * 12)
    assert everything_out[0] == pytest.approx(0)


def test_bad_input_is_refused(distances: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="agglomerative, hdbscan"):
        cluster_models(distances, "colour", 3)
    with pytest.raises(ShapeError, match="1 to 12"):
        cluster_models(distances, "agglomerative", 13)
    with pytest.raises(ShapeError, match="two models"):
        build_dendrogram(np.zeros((1, 1)))
