"""Intruder dimensions: leading directions of a fine-tuned matrix that resemble none of the base's.

A direction is a left singular vector; its resemblance is the largest absolute cosine with any of
the base's. Where two singular values of the base are nearly equal, any update mixes their
directions, so each matrix is compared with random (Gaussian) updates of the same norm. Gaussian
matrices look the same in every basis, so these are drawn in the base's own, where its matrix is
diagonal and the cosines are coordinates. Updates of large matrices are not decomposed one by one:
`directions.noisy_cosines` draws from the same distribution.

Reference: Shuttleworth et al. 2024, arXiv 2410.21228. Deviations: the null and its p-values are
ours; the original counts directions below a threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError
from core.maths.spectra.directions import (
    SMALL,
    first_directions,
    leading_directions,
    leading_eigenvectors,
    noisy_cosines,
)
from core.maths.spectra.spectra import singular_values

SIGNS = np.array([-1.0, 1.0], np.float32)
BATCH = 2**21  # numbers of the random updates that are decomposed together
Factors = tuple[ndarray, ndarray]


@dataclass(frozen=True)
class Resemblance:
    """How much the leading directions of a fine-tuned matrix resemble the base's.

    Attributes:
        values: Their singular values in the tuned matrix, falling, shape (direction,).
        cosines: Largest absolute cosine of each with any left singular vector of the base, shape
            (direction,).
        null: The same cosines after random updates of equal norm, shape (draw, direction).
    """

    values: Float[ndarray, " direction"]
    cosines: Float[ndarray, " direction"]
    null: Float[ndarray, "draw direction"]


def compare_directions(
    base: Float[ndarray, "row column"],
    delta: Float[ndarray, "row column"],
    leading: int,
    draws: int,
    rng: np.random.Generator,
    tick: Callable[[float], None] = lambda fraction: None,
) -> Resemblance:
    """Compare the leading directions of base + delta with the base's, and with random updates.

    Args:
        base, delta: Matrices of one shape.
        leading: Directions to compare; all if a matrix has fewer.
        draws: Random updates of the delta's norm.
        tick: Called with the finished share between draws.

    Raises:
        ShapeError: If the shapes differ, or `leading` is below 1.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> base, delta = np.diag([3.0, 2.0, 1.0]), np.full((3, 3), 9.0)
        >>> compare_directions(base, delta, 1, 20, rng).cosines.round(2).tolist()
        [0.6]
    """
    if base.shape != delta.shape or base.ndim != 2 or leading < 1:
        raise ShapeError(
            "Base and update must be matrices of the same shape, with at least one direction: "
            f"got {base.shape}, {delta.shape} and {leading}."
        )
    short = min(base.shape)
    count = min(leading, short)
    large = short > max(SMALL, first_directions(count))
    weight = np.asarray(base, np.float64)
    if large:
        left, values = (part[0] for part in leading_directions(weight[None], short))
    else:
        left, values, _ = np.linalg.svd(weight, full_matrices=False)
    tuned, sizes = leading_directions(np.asarray(base + delta, np.float64)[None], count)
    cosines = np.abs(left.T @ tuned[0]).max(0)
    scale = float(np.linalg.norm(delta)) / np.sqrt(base.size)
    if large:
        null = noisy_cosines(values, base.shape, scale, count, draws, rng, tick)
    else:
        null = np.empty((draws, count))
        at_once = max(1, BATCH // base.size)
        places = np.arange(len(values))
        for start in range(0, draws, at_once):
            tick(start / draws)
            moved = rng.normal(scale=scale, size=(min(at_once, draws - start), *base.shape))
            moved[:, places, places] += values
            # Rows of a tall matrix beyond the base's columns are reached by none of its directions.
            null[start : start + len(moved)] = np.abs(
                leading_directions(moved, count)[0][:, : len(values)]
            ).max(1)
    return Resemblance(sizes[0], np.minimum(cosines, 1.0), np.minimum(null, 1.0))


def turned_cosines(
    base: Float[ndarray, "row column"],
    delta: Float[ndarray, "row column"],
    leading: int,
    draws: int,
    directions: Callable[[int, int, int], Float[ndarray, "side direction"]],
    rng: np.random.Generator,
    tick: Callable[[float], None] = lambda fraction: None,
) -> Float[ndarray, "draw direction"]:
    """Compute how much the leading directions resemble the base's after updates with the delta's
    own singular values, turned in random directions; in single precision, right to 1e-4.

    Args:
        base, delta, leading, rng, tick: As for `compare_directions`.
        draws: Random updates; see `turned_update`.
        directions: Gives orthonormal vectors, drawn at random, by their side (0: left, 1: right),
            length and number. Matrices may share them; the two sides may not, or the update is
            symmetric except for the order of its rows and columns, and not a random one.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> base, delta = np.diag(np.arange(9.0, 1.0, -1.0)), np.zeros((8, 8))
        >>> delta[:, 0] = 40.0
        >>> directions = lambda side, *size: np.linalg.qr(rng.normal(size=size))[0]
        >>> bool((turned_cosines(base, delta, 1, 20, directions, rng) < 0.9).all())
        True
    """
    values, sizes = (singular_values(matrix).astype(np.float32) for matrix in (base, delta))
    sizes = sizes[sizes > 0]
    left, right = (
        directions(side, length, len(values)).astype(np.float32)
        for side, length in enumerate(base.shape)
    )
    kept, tall = min(leading, len(values)), base.shape[0] > base.shape[1]
    cosines = np.empty((draws, kept))
    at_once = max(1, BATCH // base.size)
    for start in range(0, draws, at_once):
        tick(start / draws)
        drawn = [_factors(left, sizes, right, rng) for _ in range(min(at_once, draws - start))]
        grams = np.stack([_gram(values, *factors) for factors in drawn])
        squares, vectors = leading_eigenvectors(grams, kept)
        if tall:  # directions on the longer side, of which the base's are the first coordinates
            lengths = np.sqrt(np.maximum(squares, 0.0))[:, None]
            images = np.stack(
                [
                    values[:, None] * each + far[: len(values)] @ (near.T @ each)
                    for each, (near, far) in zip(vectors, drawn, strict=True)
                ]
            )
            vectors = np.divide(images, lengths, out=np.zeros_like(images), where=lengths > 0)
        cosines[start : start + len(drawn)] = np.abs(vectors).max(1)
    return np.minimum(cosines, 1.0)


def _factors(left: ndarray, sizes: ndarray, right: ndarray, rng: np.random.Generator) -> Factors:
    """Draw an update as what its shorter side is multiplied with, and the directions of the other;
    see `turned_update`."""
    first, signed, second = turned_update(left, sizes, right, rng)
    near, far = (first, second) if len(first) <= len(second) else (second, first)
    return near * signed, far


def _gram(values: ndarray, near: ndarray, far: ndarray) -> ndarray:
    """Compute the product with its transpose, on the shorter side, of a diagonal plus near @ far.T,
    without the matrix: the columns of far are orthonormal."""
    mixed = (values[:, None] * far[: len(values)]) @ near.T
    gram: ndarray = near @ near.T + mixed + mixed.T
    gram[np.diag_indices(len(values))] += values**2
    return gram


def turned_update(
    left: Float[ndarray, "row left"],
    sizes: Float[ndarray, " direction"],
    right: Float[ndarray, "column right"],
    rng: np.random.Generator,
) -> tuple[
    Float[ndarray, "row direction"],
    Float[ndarray, " direction"],
    Float[ndarray, "column direction"],
]:
    """Draw an update with these singular values from random directions.

    Some of the directions, their coordinates in a random order and with random signs, are further
    random ones, which takes no decomposition.

    Args:
        left, right: Orthonormal vectors, drawn at random independently of each other; as many as
            singular values, or more.
        sizes: Singular values.
        rng: Source of randomness.

    Returns:
        Its left directions, its singular values with a sign, and its right directions.

    Example:
        >>> left, sizes, right = turned_update(np.eye(3)[:, :1], np.array([2.0]), np.eye(4)[:, :1],
        ...     np.random.default_rng(0))
        >>> np.linalg.svd(left * sizes @ right.T, compute_uv=False).round(6).tolist()
        [2.0, 0.0, 0.0]
    """
    sides = []
    for side in (left, right):
        rows, columns = (rng.permutation(length) for length in side.shape)
        signs = rng.choice(SIGNS, (len(side), 1))
        sides.append(side[rows[:, None], columns[: len(sizes)]] * signs)
    return sides[0], sizes * rng.choice(SIGNS, len(sizes)), sides[1]


def direction_p_values(
    cosines: Float[ndarray, " direction"], null: Float[ndarray, "draw direction"]
) -> Float[ndarray, " direction"]:
    """Calculate how often a random update leaves a direction that resembles the base's as little.

    The lowest cosine of each draw counts, so that the p-values of a matrix hold for all its
    directions together.

    Example:
        >>> direction_p_values(np.array([0.3, 0.9]), np.array([[0.2, 0.9], [0.6, 0.8], [0.7,
        ...     0.9]])).round(2).tolist()
        [0.5, 1.0]
    """
    lowest = null.min(1)
    reached: ndarray = (1 + (lowest[:, None] <= cosines).sum(0)) / (1 + len(null))
    return reached
