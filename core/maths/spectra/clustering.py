"""Clusters of fine-tunes from their distances, and how well they agree with labels.

Clusters are found from the distances, never on a map. Agglomerative clustering with average linkage
gives a tree and any number of clusters; HDBSCAN finds the number itself and leaves outliers out
(-1).

References: Sokal & Michener 1958; Campello et al. 2013; Hubert & Arabie 1985 (ARI);
Strehl & Ghosh 2002 (NMI).
Deviations: none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from core.errors import ShapeError

METHODS = {
    "agglomerative": "average linkage, cut into the given number of clusters",
    "hdbscan": "finds the number of clusters itself and leaves outliers out",
}


def cluster_models(
    distances: Float[ndarray, "model model"], method: str, count: int
) -> Int[ndarray, " model"]:
    """Assign each model to a cluster, from 0; -1 for an outlier.

    Args:
        distances: Symmetric, zero diagonal.
        method: "agglomerative" (average linkage) or "hdbscan".
        count: Clusters to cut the tree into; ignored by HDBSCAN.

    Raises:
        ShapeError: If the method is unknown or the count is not between 1 and the number of models.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> cluster_models(apart, "agglomerative", 2).tolist()
        [0, 0, 1, 1]
    """
    if method not in METHODS:
        raise ShapeError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    if method == "hdbscan":
        from sklearn.cluster import HDBSCAN

        model = HDBSCAN(min_cluster_size=2, metric="precomputed", copy=True)
        return np.asarray(model.fit_predict(distances), dtype=int)
    from scipy.cluster.hierarchy import cut_tree

    if not 1 <= count <= len(distances):
        raise ShapeError(
            f"{len(distances)} models make 1 to {len(distances)} clusters, got {count}."
        )
    return np.asarray(cut_tree(_linkage(distances), n_clusters=count)[:, 0], dtype=int)


def build_dendrogram(
    distances: Float[ndarray, "model model"],
) -> tuple[Int[ndarray, " model"], Float[ndarray, "join 5"]]:
    """Build the tree of average linkage, ordered so that neighbouring leaves are close.

    Returns:
        The models from left to right; a row per join: left x, left height, right x, right height,
        height of the join.

    Example:
        >>> apart = np.array([[0, 1, 4, 5], [1, 0, 4, 5], [4, 4, 0, 1], [5, 5, 1, 0]], dtype=float)
        >>> build_dendrogram(apart)[0].tolist()
        [0, 1, 2, 3]
    """
    from scipy.cluster.hierarchy import leaves_list, optimal_leaf_ordering
    from scipy.spatial.distance import squareform

    tree = optimal_leaf_ordering(_linkage(distances), squareform(distances, checks=False))
    order = leaves_list(tree)
    models = len(order)
    place = np.empty(2 * models - 1)
    height = np.zeros(2 * models - 1)
    place[order] = np.arange(models)
    joins = np.empty((models - 1, 5))
    for index, (left, right, level, _) in enumerate(tree):
        left_end, right_end = sorted((int(left), int(right)), key=lambda node: place[node])
        joins[index] = place[left_end], height[left_end], place[right_end], height[right_end], level
        place[models + index] = (place[left_end] + place[right_end]) / 2
        height[models + index] = level
    return order, joins


def score_clusters(labels: Sequence[str], clusters: Sequence[int]) -> tuple[float, float]:
    """Calculate adjusted Rand index (0 by chance, 1 at best) and normalised mutual information.

    The latter is above 0 by chance. Each outlier counts as a cluster of its own.

    Example:
        >>> tuple(round(score, 2) for score in score_clusters(["a", "a", "b", "b"], [1, 1, 0, 0]))
        (1.0, 1.0)
    """
    from sklearn.metrics import adjusted_rand_score

    ours, theirs = _codes(labels), _own_clusters(clusters)
    information = _information(_count_pairs(ours[None], theirs))
    return float(adjusted_rand_score(ours, theirs)), float(information[0])


def chance_information(
    labels: Sequence[str], clusters: Sequence[int], draws: int, rng: np.random.Generator
) -> float:
    """Calculate the mean normalised mutual information of permuted labels: its chance level.

    Example:
        >>> labels, clusters = ["a", "a", "b", "b"], [0, 0, 1, 1]
        >>> 0 < chance_information(labels, clusters, 100, np.random.default_rng(0)) < 1
        True
    """
    shuffled = rng.permuted(np.tile(_codes(labels), (draws, 1)), axis=1)
    return float(_information(_count_pairs(shuffled, _own_clusters(clusters))).mean())


def _codes(labels: Sequence[str]) -> ndarray:
    return np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1]


def _own_clusters(clusters: Sequence[int]) -> ndarray:
    given = np.asarray(clusters, dtype=int)
    completed = np.where(given < 0, given.max(initial=0) + 1 + np.arange(len(given)), given)
    return np.unique(completed, return_inverse=True)[1]


def _count_pairs(labels: Int[ndarray, "draw model"], clusters: Int[ndarray, " model"]) -> ndarray:
    """Count models by label and cluster, shape (draw, label, cluster)."""
    shape = (len(labels), int(labels.max()) + 1, int(clusters.max()) + 1)
    place = (np.arange(shape[0])[:, None] * shape[1] + labels) * shape[2] + clusters
    return np.bincount(place.ravel(), minlength=int(np.prod(shape))).reshape(shape).astype(float)


def _information(table: ndarray) -> ndarray:
    """Calculate normalised mutual information of many tables at once; scikit-learn's takes one."""
    from scipy.special import entr, rel_entr

    share = table / table.sum((1, 2), keepdims=True)
    rows, columns = share.sum(2, keepdims=True), share.sum(1, keepdims=True)
    shared = rel_entr(share, rows * columns).sum((1, 2))
    spread = (entr(rows).sum((1, 2)) + entr(columns).sum((1, 2))) / 2
    information: ndarray = np.divide(
        np.maximum(shared, 0.0), spread, out=np.ones_like(shared), where=spread > 0
    )
    return information


def _linkage(distances: ndarray) -> ndarray:
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(distances) < 2 or distances.shape != (len(distances), len(distances)):
        raise ShapeError(
            f"Clustering needs square distances of two models or more, got shape {distances.shape}."
        )
    return np.asarray(linkage(squareform(distances, checks=False), method="average"))
