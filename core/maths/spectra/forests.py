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
    count = len(distances)
    tree_of = list(range(count))
    neighbours: list[list[int]] = [[] for _ in range(count)]
    first, second = np.triu_indices(count, 1)
    pairs = np.flatnonzero(related[first, second])
    for pair in pairs[np.argsort(distances[first, second][pairs], kind="stable")]:
        left, right = int(first[pair]), int(second[pair])
        if tree_of[left] == tree_of[right]:
            continue
        neighbours[left].append(right)
        neighbours[right].append(left)
        joined = tree_of[right]
        tree_of = [tree_of[left] if tree == joined else tree for tree in tree_of]
    trees = tuple(
        tuple(model for model in range(count) if tree_of[model] == tree)
        for tree in dict.fromkeys(tree_of)
    )
    return Forest(trees, tuple(tuple(sorted(joined)) for joined in neighbours))


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


def count_right(parents: Sequence[int], recorded: Sequence[int]) -> int:
    """Count the models whose parent is the recorded one, of those that have one recorded.

    Example:
        >>> count_right([1, NONE, 1], [1, NONE, 0])
        1
    """
    return sum(
        truth != NONE and parent == truth for parent, truth in zip(parents, recorded, strict=True)
    )


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
