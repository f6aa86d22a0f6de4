"""Forests of models: which models descend from which, by the distances of their weights.

Related models are joined to minimum spanning trees. A tree has no direction until one of its models
is chosen as its root; what a random root would find is computed exactly.

Reference: Horwitz et al. 2025, ICLR (model trees from distances of weights). Deviations: the root
is the model with the smallest norm, not that with the highest kurtosis; models are related if their
cosine exceeds a threshold, not by a given number of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

NONE = -1  # in place of a parent


@dataclass(frozen=True)
class Forest:
    """Spanning trees without direction.

    Attributes:
        trees: The models of each tree, in order; a model without relatives is a tree of its own.
        neighbours: Of each model, those that it is joined to.
    """

    trees: tuple[tuple[int, ...], ...]
    neighbours: tuple[tuple[int, ...], ...]

    def parents_from(self, roots: Sequence[int]) -> list[int]:
        """Direct each tree away from its root; return the parent of each model, `NONE` for a root.

        Args:
            roots: One model of each tree.
        """
        parents = [NONE] * len(self.neighbours)
        waiting = [(root, NONE) for root in roots]
        while waiting:
            model, parent = waiting.pop()
            parents[model] = parent
            waiting += [(each, model) for each in self.neighbours[model] if each != parent]
        return parents


def span_models(
    distances: Float[ndarray, "model model"], related: Bool[ndarray, "model model"]
) -> Forest:
    """Join related models to minimum spanning trees, the shortest distance first.

    Args:
        distances: Symmetric.
        related: Pairs that may be joined, symmetric.

    Example:
        >>> line = np.array([0.0, 1.0, 3.0])
        >>> span_models(abs(line[:, None] - line), np.ones((3, 3), bool)).neighbours
        ((1,), (0, 2), (1,))
    """
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    first, second = np.nonzero(np.triu(related, 1))
    order = np.argsort(distances[first, second], kind="stable")
    places = np.zeros(distances.shape)  # of each pair: a distance of 0 would be no edge
    places[first[order], second[order]] = np.arange(1, len(order) + 1)
    joined = minimum_spanning_tree(places).toarray() > 0
    joined |= joined.T
    count, tree_of = connected_components(joined, directed=False)
    return Forest(
        tuple(tuple(np.flatnonzero(tree_of == tree).tolist()) for tree in range(count)),
        tuple(tuple(np.flatnonzero(row).tolist()) for row in joined),
    )


def root_at_lowest(forest: Forest, values: Float[ndarray, " model"]) -> list[int]:
    """Direct each tree away from the model with the lowest value; return each model's parent.

    Example:
        >>> places = np.array([0.0, 1.0, 3.0])
        >>> forest = span_models(abs(places[:, None] - places), np.ones((3, 3), bool))
        >>> root_at_lowest(forest, np.array([2.0, 1.0, 3.0]))
        [1, -1, 1]
    """
    roots = [min(tree, key=lambda model: float(values[model])) for tree in forest.trees]
    return forest.parents_from(roots)


def random_root_chances(forest: Forest, recorded: Sequence[int]) -> Float[ndarray, " count"]:
    """Calculate how likely each number of right parents is if every tree has a random root.

    Args:
        forest: The trees.
        recorded: Parent of each model; `NONE` where it is not recorded.

    Returns:
        The probability of 0, 1, 2 ... right parents, exactly: every root of a tree is tried, and
        trees are independent.

    Example:
        >>> places = np.array([0.0, 1.0, 3.0])
        >>> forest = span_models(abs(places[:, None] - places), np.ones((3, 3), bool))
        >>> random_root_chances(forest, [NONE, 0, 1]).round(2).tolist()
        [0.33, 0.33, 0.33, 0.0]
    """
    chances = np.ones(1)
    for tree in forest.trees:
        one_tree = np.zeros(len(tree) + 1)
        for root in tree:
            others = [rest[0] for rest in forest.trees if rest is not tree]
            parents = forest.parents_from([root, *others])
            right = sum(recorded[m] != NONE and parents[m] == recorded[m] for m in tree)
            one_tree[right] += 1 / len(tree)
        chances = np.convolve(chances, one_tree)
    return chances


def nearest_of(distances: Float[ndarray, "model model"]) -> list[int]:
    """Find the nearest other model of each; `NONE` for a single model.

    Example:
        >>> places = np.array([0.0, 1.0, 3.0])
        >>> nearest_of(abs(places[:, None] - places))
        [1, 0, 1]
    """
    if len(distances) < 2:
        return [NONE] * len(distances)
    apart = distances + np.diag(np.full(len(distances), np.inf))
    return [int(nearest) for nearest in apart.argmin(1)]
