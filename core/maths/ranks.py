"""Statistics of ranks: the area under the ROC curve, and Spearman's correlation with its intervals
and p-values.

Reference:
    Bonett & Wright 2000, Psychometrika (interval of a rank correlation).
"""

from __future__ import annotations

from itertools import permutations
from math import atanh, factorial, sqrt, tanh
from statistics import NormalDist

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray
from numpy.typing import ArrayLike, NDArray

from core.maths.statistics import LEVEL, jackknife_interval, sentence_labels, sum_by_group

MOST_ORDERS = 5_040  # all orders of up to 7 models are counted; of more, this many are drawn
PERFECT = 1 - 1e-9  # size of a correlation from which all ranks agree
FEWEST = 4  # models behind an interval of a rank correlation

Floats = NDArray[np.float64]


def _rank(values: ArrayLike) -> Floats:
    """Rank values; equal ones get their mean rank."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(values), dtype=np.float64)


def area(positive: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Compute the AUC: the probability that a positive item scores above a negative one, ties
    counting half.

    Args:
        positive: Which items are, (item,).
        score: Higher for what looks more positive, (item,).

    Returns:
        A number in [0, 1]; NaN unless there are positive and negative items.

    Example:
        >>> area(np.array([True, True, False]), np.array([3.0, 1.0, 1.0]))
        0.75
    """
    count, total = int(positive.sum()), len(positive)
    if count in (0, total):
        return float("nan")
    above = _rank(score)[positive].sum() - count * (count + 1) / 2
    return float(above / (count * (total - count)))


def rank_correlation(left: ArrayLike, right: ArrayLike) -> float:
    """Compute Spearman's correlation of two numbers an item; NaN where one side is constant.

    Example:
        >>> round(rank_correlation(np.array([1.0, 2, 3, 4]), np.array([2.0, 1, 3, 4])), 3)
        0.8
    """
    ranks = [_rank(side) for side in (left, right)]
    deviations = [side - side.mean() for side in ranks]
    size = sqrt(float(np.prod([(side**2).sum() for side in deviations])))
    return float((deviations[0] * deviations[1]).sum() / size) if size else float("nan")


def correlation_interval(
    correlation: float, count: int, level: float = LEVEL
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
    ranks = [_rank(side) - (count + 1) / 2 for side in (left, right)]
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


def correlate(
    x: Float[ndarray, " word"],
    y: Float[ndarray, " word"],
    sentence: Int[ndarray, " word"],
    cells: Int[ndarray, " word"] | None = None,
) -> tuple[float, float, float]:
    """Compute Spearman's correlation and its 95 % interval, leaving out one sentence at a time.

    Ranks are those of the full sample, without a sentence, too.

    Args:
        x, y: One number a word.
        sentence: Sentence of each word.
        cells: Ranks are compared within these groups of words; None compares all words.

    Returns:
        The correlation and its interval; NaN where a column does not vary.
    """
    if not (np.isfinite(y).all() and len(x) > 2):
        return (float("nan"),) * 3
    ranks = [_rank(column) for column in (x, y)]
    if cells is not None:
        sizes = np.bincount(cells)
        ranks = [column - (np.bincount(cells, column) / sizes)[cells] for column in ranks]
    first, second = (column - column.mean() for column in ranks)
    labels, sentences = sentence_labels(sentence)
    moments = sum_by_group(
        np.stack([np.ones_like(first), first, second, first**2, second**2, first * second]),
        labels,
        sentences,
    )
    total = moments.sum(axis=1)
    value = float(_from_moments(total))
    if not np.isfinite(value):
        return (float("nan"),) * 3
    low, high = jackknife_interval(value, _from_moments(total[:, None] - moments))
    return value, max(low, -1.0), min(high, 1.0)


def _from_moments(moments: Float[ndarray, "6 ..."]) -> Float[ndarray, ...]:
    """Compute correlations from counts, sums, sums of squares and of products."""
    count, x, y, xx, yy, xy = moments
    over = (count * xx - x**2) * (count * yy - y**2)
    correlation: Float[ndarray, ...] = np.full(np.shape(over), np.nan)
    small = 1e-12 * (count * xx) * (count * yy)
    np.divide(
        count * xy - x * y, np.sqrt(np.maximum(over, 0.0)), out=correlation, where=over > small
    )
    return correlation
