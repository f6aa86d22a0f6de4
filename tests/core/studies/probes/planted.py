"""Vectors whose squared distances under a known map are tree distances, and trees to plant."""

from __future__ import annotations

import numpy as np
import torch

from core.maths.structural.batches import ProbeData
from core.maths.trees import tree_depths, tree_distances
from tests.core import random_trees


def random_heads(rng: np.random.Generator, shortest: int = 5, longest: int = 16) -> tuple[int, ...]:
    return random_trees.random_heads(int(rng.integers(shortest, longest + 1)), rng)


def planted_vectors(heads: tuple[int, ...], rank: int, rng: np.random.Generator) -> np.ndarray:
    """(word, rank): a child stands one step along an axis of its own from its head, so |a - b|^2 counts edges.

    Exact while a sentence has no more edges than the rank; the root is the origin, so norms are
    depths.
    """
    axes = rng.permutation(rank)
    vectors = np.zeros((len(heads), rank))
    order = np.argsort(tree_depths(heads), kind="stable")
    for used, i in enumerate(order[1:]):
        vectors[i] = vectors[heads[i] - 1]
        vectors[i, axes[used % rank]] += 1.0
    return vectors


def planted_data(
    trees: list[tuple[int, ...]],
    basis: np.ndarray,
    rng: np.random.Generator,
    *,
    layers: int = 1,
    noise: float = 0.0,
    kind: str = "distance",
) -> ProbeData:
    """Planted vectors in d_model dimensions, with noise in all of them that grows with the
    layer."""
    points = np.concatenate([planted_vectors(heads, len(basis), rng) for heads in trees]) @ basis
    stack = [
        points + noise * (1 + layer) * rng.normal(size=points.shape) for layer in range(layers)
    ]
    measure = tree_distances if kind == "distance" else tree_depths
    return ProbeData(
        torch.from_numpy(np.stack(stack, axis=1)).float(), [measure(heads)[None] for heads in trees]
    )


def orthonormal_rows(rank: int, d_model: int, rng: np.random.Generator) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(d_model, rank)))[0].T
