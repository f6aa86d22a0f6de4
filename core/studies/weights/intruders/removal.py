"""Directions of a fine-tuned matrix that are scaled: its intruder dimensions, and two controls.

A direction is one term s u v^T of the fine-tuned matrix's singular value decomposition. Scaling it
by c subtracts (1 - c) s u v^T. Each intruder dimension has a control of equal size in two ways: a
random direction (u and v drawn at random, the same s), and the direction of the same matrix that is
no intruder dimension and whose singular value is nearest.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228 (scaling of intruder dimensions). Deviations:
both controls are as they are said here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray


@dataclass(frozen=True)
class Directions:
    """Terms of a matrix, s u v^T each.

    Attributes:
        left: Vectors u with their sizes s, shape (output, direction).
        right: Unit vectors v, shape (input, direction).
    """

    left: Float[ndarray, "output direction"]
    right: Float[ndarray, "input direction"]

    def change(self, scale: float) -> Float[ndarray, "output input"]:
        """Compute what scaling these terms by `scale` adds to the matrix."""
        change: ndarray = (scale - 1.0) * self.left @ self.right.T
        return change


@dataclass(frozen=True)
class Shrunk:
    """A matrix's whole update, shrunk by the norm that scaling its intruder dimensions removes.

    Attributes:
        update: The fine-tuned matrix minus the base's, shape (output, input).
        removed: Frobenius norm that removing the intruder dimensions takes away.
    """

    update: Float[ndarray, "output input"]
    removed: float

    def change(self, scale: float) -> Float[ndarray, "output input"]:
        """Compute what shrinking by (1 - scale) of that norm, or to nothing, adds to the matrix."""
        share = (1.0 - scale) * self.removed / float(np.linalg.norm(self.update))
        change: ndarray = -min(share, 1.0) * self.update
        return change


def choose_directions(
    base: Float[ndarray, "output input"],
    delta: Float[ndarray, "output input"],
    leading: int,
    threshold: float,
) -> tuple[Directions, Directions]:
    """Find the intruder dimensions among a fine-tuned matrix's `leading` directions, and for each
    another direction (of all, each at most once) whose singular value is nearest; fewer where none
    is left."""
    origin = np.linalg.svd(np.asarray(base, np.float64), full_matrices=False)[0]
    left, sizes, right = np.linalg.svd(np.asarray(base + delta, np.float64), full_matrices=False)
    cosines = np.abs(origin.T @ left).max(0)
    examined = np.arange(len(sizes)) < leading
    chosen = np.flatnonzero(examined & (cosines < threshold))
    rest = [place for place in range(len(sizes)) if place not in set(chosen.tolist())]
    partners = []
    for place in chosen[: len(rest)]:
        nearest = min(rest, key=lambda other: abs(sizes[other] - sizes[place]))
        partners.append(nearest)
        rest.remove(nearest)
    intruders, others = (
        Directions(left[:, at] * sizes[at], right[at].T) for at in (chosen, partners)
    )
    return intruders, others


def draw_directions(like: Directions, rng: np.random.Generator) -> Directions:
    """Draw random directions of the same sizes."""
    drawn = (rng.normal(size=side.shape) for side in (like.left, like.right))
    left, right = (vectors / np.linalg.norm(vectors, axis=0) for vectors in drawn)
    return Directions(left * np.linalg.norm(like.left, axis=0), right)
