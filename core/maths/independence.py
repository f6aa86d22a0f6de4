"""Whether two networks were trained independently, by the order of their units.

A network does not notice in what order its units stand, and training from a start of its own leaves
every order equally likely. So the units of two independent networks, matched to each other, lie in
a random order, whatever the weights are like; those of a network and what was made of it do not.

Reference: Zhu et al. 2025. Deviations: the rank correlation is tested one-sided, and its p-value is
no smaller than that of one order among all; units are matched by the correlations of their rows,
and a unit that pruning has silenced is matched by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from numpy.random import Generator
from scipy.special import betainc, betaln, gammaln, hyp2f1, logsumexp

from core.errors import ShapeError
from core.maths.permutations import correlations, match_units
from core.maths.ranks import rank_correlation

LEAST_UNITS = 3
Matrices = Sequence[Float[ndarray, "unit column"]]
TINY = 1e-280  # below which an incomplete beta function is taken from its series


def match_rows(
    first: Float[ndarray, "unit column"], second: Float[ndarray, "other column"]
) -> Int[ndarray, " unit"]:
    """Assign to each row of the first matrix one of the second, of which there may be more.

    Raises:
        ShapeError: If the rows have different lengths, or the second has fewer.
    """
    if len(second) < len(first):
        raise ShapeError(f"{len(first)} units cannot be matched to {len(second)}.")
    return match_units(correlations(first.T, second.T))


@dataclass(frozen=True)
class Orders:
    """How the units of one layer match between two networks.

    Attributes:
        order: Rank correlation of the places of matched units.
        matched: Rank correlation of the matchings by two matrices.
        agreeing: Share of units that both match alike.
        units: How many were matched.
    """

    order: float
    matched: float
    agreeing: float
    units: int


def compare_units(first: Matrices, second: Matrices, most: int) -> Orders:
    """Match the units of a layer by each of two matrices with a row for every unit.

    Args:
        first, second: The two matrices of each network.
        most: Units of the first network that are matched, evenly spaced, to all of the second.

    Raises:
        ShapeError: As `match_rows`, and if there are fewer than three units.
    """
    count = len(first[0])
    asked = np.linspace(0, count - 1, min(count, most)).round().astype(int)
    if len(asked) < LEAST_UNITS:
        raise ShapeError(f"An order needs at least {LEAST_UNITS} units, got {len(asked)}.")
    chance = np.random.default_rng(0)
    orders = [
        match_rows(_with_noise(x, chance)[asked], _with_noise(y, chance))
        for x, y in zip(first, second, strict=True)
    ]
    return Orders(
        rank_correlation(orders[0], asked),
        rank_correlation(*orders),
        float((orders[0] == orders[1]).mean()),
        len(asked),
    )


def _with_noise(
    matrix: Float[ndarray, "unit column"], chance: Generator
) -> Float[ndarray, "unit column"]:
    """Put noise in place of constant rows, which fit all others alike and would be matched in the
    order in which they stand."""
    constant = np.ptp(matrix, axis=1) == 0
    if not constant.any():
        return matrix
    noisy = matrix.copy()
    noisy[constant] = chance.normal(size=(int(constant.sum()), matrix.shape[1]))
    return noisy


def order_log_p(correlation: float, units: int) -> float:
    """Calculate the logarithm of the probability that a random order correlates as much or more.

    By Student's t distribution, and no less than the probability of one order among all.

    Args:
        correlation: See `Orders`.
        units: How many are ordered, at least 3.

    Example:
        >>> order_log_p(0.0, 100) == np.log(0.5)
        True
    """
    degrees = (units - 2) / 2
    rest = max(0.0, 1.0 - correlation**2)
    tail = float(betainc(degrees, 0.5, rest)) / 2
    if correlation < 0:
        return float(np.log1p(-tail))
    if tail > TINY:
        smallest = float(np.log(tail))
    elif rest > 0:
        series = float(np.log(hyp2f1(degrees, 0.5, degrees + 1, rest)))
        smallest = degrees * np.log(rest) - np.log(2 * degrees) - betaln(degrees, 0.5) + series
    else:
        smallest = -np.inf
    return float(max(smallest, -gammaln(units + 1)))


def combine_log_p(logs: Sequence[float]) -> float:
    """Combine independent p-values by Fisher's method; logarithms in and out.

    Minus twice the sum of the logarithms follows chi-squared with two degrees of freedom for each,
    whose tail has a closed form.

    Example:
        >>> round(float(np.exp(combine_log_p(np.log([0.1, 0.1])))), 4)
        0.0561
    """
    half = -float(np.sum(logs))
    if half <= 0:
        return 0.0
    powers = np.arange(len(logs))
    return min(0.0, float(logsumexp(powers * np.log(half) - gammaln(powers + 1)) - half))


def layers_log_p(correlations: Sequence[float], units: Sequence[int]) -> float:
    """Calculate the p-value of a rank correlation in every layer together; its logarithm.

    Args:
        correlations: See `Orders`.
        units: How many are ordered in each layer.
    """
    each = zip(correlations, units, strict=True)
    return combine_log_p([order_log_p(float(correlation), int(n)) for correlation, n in each])
