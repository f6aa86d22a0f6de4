"""Ranks and spectra of Gaussian matrices: the null distribution of every rank.

A matrix of noise does not need all directions for 90 % of its energy: 391 of 768 if it is square,
585 of 768 if it is four times as wide. A rank is low only compared with that. The eigenvalues of a
Gaussian matrix times its transpose follow the Marchenko-Pastur law; as a function of the angle of
its semicircle, the energy above an angle is the same for every shape, and the rank is a smooth
integral. Nothing is simulated; tests compare it with simulations (within one direction from 30 x 40
upward).

References:
    Marchenko & Pastur 1967; Johnstone 2001, Annals of Statistics (the largest eigenvalue).
    Deviations: none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError
from core.maths.spectra.spectra import entropy_rank

NODES = 20_000  # of the midpoint rule: the rank of 768 x 768 is exact to 1e-3
TRACY_WIDOM_MEAN = -1.2065335745820


def null_energy_rank(rows: int, columns: int, threshold: float) -> int:
    """Calculate how many directions a Gaussian matrix needs for a share of its energy.

    Raises:
        ShapeError: If a side is below 1 or the threshold is outside (0, 1].

    Example:
        >>> null_energy_rank(128, 128, 0.9)
        66
    """
    if not 0 < threshold <= 1:
        raise ShapeError(f"The energy threshold must be above 0 and at most 1, got {threshold}.")
    energy, rank, _ = _law(*_sides(rows, columns))
    # Plus half: on average the threshold is passed half way through a direction.
    expected = float(np.interp(threshold, energy, rank)) + 0.5
    return max(1, min(round(expected), rows, columns))


def null_projector_distance(shapes: Sequence[tuple[int, int]], rank: int) -> float:
    """Calculate how far apart the projectors of two Gaussian updates are on average: the root of
    the mean square over matrices and sides, each divided by its largest value.

    Two random subspaces of `rank` dimensions of `side` share rank^2 / side.

    Args:
        shapes: Rows and columns of each matrix; 1 without any.
        rank: Leading directions.

    Example:
        >>> round(null_projector_distance([(8, 8)], rank=2) ** 2, 3)
        0.75
    """
    shares = [sum(min(rank, side) / side for side in shape) / 2 for shape in shapes]
    return float(np.sqrt(1 - np.mean(shares))) if shares else 1.0


def null_stable_rank(rows: int, columns: int) -> float:
    """Calculate a Gaussian matrix's stable rank: mean energy over mean largest eigenvalue.

    Example:
        >>> round(null_stable_rank(128, 128), 1)
        33.1
    """
    short, long = _sides(rows, columns)
    if short == 1:
        return 1.0
    edge = np.sqrt(long - 1) + np.sqrt(short)
    width = edge * (1 / np.sqrt(long - 1) + 1 / np.sqrt(short)) ** (1 / 3)
    return float(short * long / (edge**2 + TRACY_WIDOM_MEAN * width))


def null_entropy_rank(rows: int, columns: int) -> float:
    """Calculate a Gaussian matrix's entropy rank (Roy & Vetterli).

    Example:
        >>> round(null_entropy_rank(128, 128), 1)
        103.1
    """
    return float(entropy_rank(null_spectrum(rows, columns)))


def null_spectrum(rows: int, columns: int) -> Float[ndarray, " value"]:
    """Calculate a Gaussian matrix's singular values, falling, with squares that sum to 1.

    Example:
        >>> spectrum = null_spectrum(4, 8)
        >>> spectrum.shape, round(float((spectrum ** 2).sum()), 6)
        ((4,), 1.0)
    """
    _, rank, roots = _law(*_sides(rows, columns))
    short = min(rows, columns)
    values = np.interp(np.arange(short) + 0.5, rank, roots)
    unit: ndarray = values / np.sqrt((values**2).sum())
    return unit


def _sides(rows: int, columns: int) -> tuple[int, int]:
    if min(rows, columns) < 1:
        raise ShapeError(f"A matrix has at least one row and one column, got {rows} x {columns}.")
    return min(rows, columns), max(rows, columns)


@lru_cache(maxsize=64)
def _law(short: int, long: int) -> tuple[ndarray, ndarray, ndarray]:
    """Energy share, directions above, and singular value, by angle from the top of the spectrum."""
    ratio = short / long
    step = np.pi / NODES
    angle = (np.arange(NODES) + 0.5) * step
    eigenvalue = 1 + ratio + 2 * np.sqrt(ratio) * np.cos(angle)
    weight = 2 * np.sin(angle) ** 2 / np.pi * step
    energy = np.cumsum(weight)
    rank = np.cumsum(weight / eigenvalue)
    return energy / energy[-1], short * rank / rank[-1], np.sqrt(eigenvalue)
