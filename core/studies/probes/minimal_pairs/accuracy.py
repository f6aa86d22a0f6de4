"""How often the acceptable sentence scores higher, with intervals; rank correlations over models.

Reference:
    Wilson 1927, JASA, Probable inference (interval of a share).
    Korn & Graubard 1998, Survey Methodology (interval of a share of clustered observations).
    Bonett & Wright 2000, Psychometrika (interval of a rank correlation).
Deviations: Wilson's interval has the place of Clopper and Pearson's in Korn and Graubard's; where
all pairs are right, or none, each group counts as one pair.
"""

from __future__ import annotations

from itertools import permutations
from math import atanh, factorial, sqrt, tanh
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

MOST_ORDERS = 5_040  # all orders of up to 7 models are counted; of more, this many are drawn
PERFECT = 1 - 1e-9  # size of a correlation from which all ranks agree
FEWEST = 4  # models behind an interval of a rank correlation

Floats = NDArray[np.float64]


def correct(good: Floats, bad: Floats) -> Floats:
    """Count a pair as 1 where the acceptable sentence scores higher, as .5 where both score the
    same.

    Example:
        >>> correct(np.array([-1.0, -2.0]), np.array([-3.0, -2.0])).tolist()
        [1.0, 0.5]
    """
    return np.asarray((good > bad) + 0.5 * (good == bad), dtype=np.float64)


def wilson_interval(hits: float, count: float, level: float = 0.95) -> tuple[float, float]:
    """Compute Wilson's interval of a share.

    Args:
        hits: How many of `count` are right.
        level: Coverage.

    Example:
        >>> [round(end, 3) for end in wilson_interval(10, 10)]
        [0.722, 1.0]
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    width = z / (1 + spread) * sqrt(share * (1 - share) / count + spread / (4 * count))
    # A share of 0 or 1 is an end of its own interval, which rounding must not leave.
    return max(0.0, min(middle - width, share)), min(1.0, max(middle + width, share))


def group_variance(values: Floats, groups: NDArray[np.int64]) -> tuple[float, int]:
    """Compute the variance of a mean of values that come in groups, and the number of groups.

    Example:
        >>> values, groups = np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1])
        >>> group_variance(values, groups), group_variance(values, np.arange(4))[1]
        ((0.25, 2), 4)
    """
    totals = np.bincount(groups, weights=values - values.mean())
    count = len(totals)
    inflated = count / (count - 1) if count > 1 else np.nan
    return float(inflated * np.square(totals).sum() / len(values) ** 2), count


def grouped_interval(
    right: Floats, groups: NDArray[np.int64], level: float = 0.95
) -> tuple[float, float]:
    """Compute the interval of a share of pairs that come in groups, which are right together.

    It is Wilson's, for as many independent pairs as tell as much: their number divided by the
    design effect (the variance over groups, over that of independent pairs; at least 1), and by the
    square of how much wider Student's t is with so few groups.

    Args:
        right: 1 for a right pair, (pair,).
        groups: The group of each pair, from 0.
        level: Coverage.

    Returns:
        Its ends; NaN of fewer than two groups.
    """
    from scipy.special import stdtrit

    variance, several = group_variance(right, groups)
    count, share = len(right), float(right.mean())
    if several < 2:
        return float("nan"), float("nan")
    alone = share * (1 - share) / count
    design = max(variance / alone, 1.0) if alone > 0 else count / several
    few = stdtrit(several - 1, (1 + level) / 2) / stdtrit(max(count - 1, 1), (1 + level) / 2)
    effective = count / design / float(few) ** 2
    return wilson_interval(share * effective, effective, level)


def rank_correlation(left: Floats, right: Floats) -> float:
    """Compute Spearman's correlation; NaN where one side is constant.

    Example:
        >>> round(rank_correlation(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 3, 4])), 3)
        0.8
    """
    from scipy.stats import rankdata

    ranks = [rankdata(side) for side in (left, right)]
    deviations = [side - side.mean() for side in ranks]
    size = sqrt(float(np.prod([(side**2).sum() for side in deviations])))
    return float((deviations[0] * deviations[1]).sum() / size) if size else float("nan")


def correlation_interval(
    correlation: float, count: int, level: float = 0.95
) -> tuple[float, float]:
    """Compute Bonett and Wright's interval of Spearman's correlation; NaN for fewer than FEWEST
    models, or where all ranks agree, whose interval would have no width.

    Example:
        >>> [round(end, 2) for end in correlation_interval(0.5, 30)]
        [0.14, 0.74]
    """
    if count < FEWEST or not abs(correlation) < PERFECT:
        return float("nan"), float("nan")
    error = sqrt((1 + correlation**2 / 2) / (count - 3))
    width = NormalDist().inv_cdf((1 + level) / 2) * error
    middle = atanh(correlation)
    return tanh(middle - width), tanh(middle + width)


def correlation_p(left: Floats, right: Floats, rng: np.random.Generator) -> float:
    """Compute the two-sided permutation p-value of Spearman's correlation.

    Every order is counted where there are at most MOST_ORDERS; otherwise that many are drawn.

    Args:
        left, right: Values of the same models.
        rng: Draws the orders.
    """
    from scipy.stats import rankdata

    observed = abs(rank_correlation(left, right))
    if observed != observed:
        return float("nan")
    count = len(left)
    every = factorial(count) <= MOST_ORDERS
    orders = np.array(
        list(permutations(range(count)))
        if every
        else [rng.permutation(count) for _ in range(MOST_ORDERS)]
    )
    # Ranks have the same mean and spread in every order: their products alone decide.
    ranks = [rankdata(side) - (count + 1) / 2 for side in (left, right)]
    products = np.abs(ranks[0][orders] @ ranks[1])
    beyond = int((products >= abs(float(ranks[0] @ ranks[1])) - 1e-9).sum())
    drawn = 0 if every else 1  # the observed order is one of those drawn
    return (beyond + drawn) / (len(orders) + drawn)


def smallest_p(count: int) -> float:
    """Compute the smallest p-value that `correlation_p` can give for so many models.

    Example:
        >>> round(smallest_p(5), 4)
        0.0167
    """
    orders = factorial(count)
    return min(1.0, 2 / orders) if orders <= MOST_ORDERS else 1 / (MOST_ORDERS + 1)
