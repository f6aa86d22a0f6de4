"""Uncertainty and null distributions: resampling of sentences, intervals, permutation p-values.

Words of one sentence are not independent, so whole sentences are resampled; SciPy draws rows.

References:
    Efron & Tibshirani 1993 (percentile interval; delete-a-group jackknife, ch. 11). Welch 1947, The
    generalization of Student's problem when several different population variances are involved.
    Phipson & Smyth 2010, Permutation P-values should never be zero.
Deviations: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.errors import ShapeError

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

SIGNIFICANT = 0.05  # a p-value below it is said to be clear of chance
LEVEL = 0.95  # of an interval, which texts call 95 %


def sentence_labels(sentence: ArrayLike) -> tuple[IntArray, int]:
    """Renumber sentences consecutively.

    Args:
        sentence: Sentence of each item, any integers, shape (item,).

    Returns:
        Labels 0 ... S-1 in the order of the numbers, shape (item,), and S.

    Raises:
        ShapeError: If there are no items or the array is not one-dimensional.

    Example:
        >>> labels, count = sentence_labels([7, 7, 3])
        >>> labels.tolist(), count
        ([1, 1, 0], 2)
    """
    array = np.asarray(sentence)
    if array.ndim != 1 or array.size == 0:
        raise ShapeError(
            f"Sentence numbers must be a list with one entry an item, not of shape {array.shape}."
        )
    values, labels = np.unique(array, return_inverse=True)
    return labels.astype(np.int64), len(values)


def sum_by_group(values: ArrayLike, group: ArrayLike, groups: int, axis: int = -1) -> FloatArray:
    """Sum the items of each group; 0 for a group without items.

    Args:
        values: Items along `axis`.
        group: Number of each item's group, 0 to `groups` - 1, shape (item,).
        groups: Number of groups.
        axis: Of the items, and of the groups in what is returned.

    Example:
        >>> sum_by_group([1.0, 2.0, 4.0], [0, 0, 2], 3).tolist()
        [3.0, 0.0, 4.0]
    """
    rows = np.moveaxis(np.asarray(values, dtype=np.float64), axis, 0)
    sums = np.zeros((groups, *rows.shape[1:]))
    order = np.argsort(group, kind="stable")
    present, starts = np.unique(np.asarray(group)[order], return_index=True)
    if len(present):
        sums[present] = np.add.reduceat(rows[order], starts, axis=0)
    return np.moveaxis(sums, 0, axis)


def sentence_counts(sentences: int, draws: int, rng: np.random.Generator) -> IntArray:
    """Draw how often a sentence occurs in each resample, (draw, sentence); rows sum to `sentences`.

    With counts, a statistic that is a polynomial of the counts needs no resampled data.

    Raises:
        ShapeError: If `sentences` or `draws` is below 1.

    Example:
        >>> sentence_counts(3, 2, np.random.default_rng(0)).sum(1).tolist()
        [3, 3]
    """
    if sentences < 1 or draws < 1:
        raise ShapeError(f"A bootstrap needs sentences and draws, got {sentences} and {draws}.")
    return rng.multinomial(sentences, np.full(sentences, 1.0 / sentences), size=draws).astype(
        np.int64
    )


def ratio(parts: ArrayLike, wholes: ArrayLike, counts: ArrayLike | None = None) -> FloatArray:
    """Divide sums over sentences, the last axis, such as right answers, by sums of all; NaN parts
    and their wholes are left out. With `sentence_counts`, in each resample, draws first.

    Example:
        >>> float(ratio([1.0, 3.0], [2.0, 3.0])), ratio([[1, 3]], [2, 4], [[2, 0]]).tolist()
        (0.8, [[0.5]])
    """
    there = np.isfinite(part := np.asarray(parts, float))
    rows = (np.where(there, each, 0.0) for each in (part, wholes))
    if counts is None:
        above, below = (each.sum(-1) for each in rows)
    else:
        above, below = (np.moveaxis(each @ np.transpose(counts), -1, 0) for each in rows)
    empty = np.full(np.shape(below), np.nan)
    return np.asarray(np.divide(above, below, out=empty, where=below > 0))


def ratios(parts: ArrayLike, wholes: ArrayLike, counts: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """`ratio` of all sentences, and of each resample, draws first.

    Example:
        >>> score, drawn = ratios([1.0, 3.0], [2.0, 4.0], [[2, 0], [0, 2]])
        >>> round(float(score), 2), drawn.tolist()
        (0.67, [0.5, 0.75])
    """
    return ratio(parts, wholes), ratio(parts, wholes, counts)


def jackknife_groups(
    sentence: ArrayLike, groups: int, rng: np.random.Generator
) -> tuple[IntArray, int]:
    """Assign sentences at random to groups whose sizes differ by at most one.

    Returns:
        The group of each item, from 0, shape (item,), and their number, `groups` or fewer.

    Raises:
        ShapeError: If fewer than two groups can be formed.

    Example:
        >>> jackknife_groups([0, 0, 1], 2, np.random.default_rng(0))
        (array([0, 0, 1]), 2)
    """
    labels, sentences = sentence_labels(sentence)
    groups = min(groups, sentences)
    if groups < 2:
        raise ShapeError("A jackknife leaves sentences out, so it needs at least two sentences.")
    return rng.permutation(np.arange(sentences) % groups)[labels], groups


def jackknife_sentences(
    sentence: ArrayLike, groups: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    """Yield the indices of the remaining items with each of `jackknife_groups` left out.

    Example:
        >>> [len(kept) for kept in jackknife_sentences([0, 0, 1, 1, 2], 3,
        ...     np.random.default_rng(0))]
        [3, 4, 3]
    """
    group, number = jackknife_groups(sentence, groups, rng)
    for left_out in range(number):
        yield np.flatnonzero(group != left_out)


def interval(
    draws: ArrayLike, level: float = LEVEL, axis: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Compute the percentile interval of draws, such as those of a null.

    Args:
        draws: Statistic of each draw along `axis`; draws that are NaN are left out.
        level, axis: Share of the draws inside, between 0 and 1; the axis of the draws.

    Returns:
        Lower and upper end, the draws' shape without `axis`; NaN where every draw is NaN.

    Raises:
        ShapeError: If the level is not between 0 and 1, or there are no draws.

    Example:
        >>> tuple(round(float(end), 2) for end in interval(np.arange(101.0), 0.9))
        (5.0, 95.0)
    """
    array = np.asarray(draws, dtype=np.float64)
    if not 0.0 < level < 1.0:
        raise ShapeError(f"The level of an interval lies between 0 and 1, got {level}.")
    if array.ndim == 0 or array.shape[axis] == 0:
        raise ShapeError("An interval needs at least one draw.")
    missing, tails = np.isnan(array), [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    empty = missing.all(axis=axis)
    quantile = np.nanquantile if missing.any() else np.quantile  # the first takes rows one by one
    low, high = quantile(np.where(np.expand_dims(empty, axis), 0.0, array), tails, axis=axis)
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def bootstrap_interval(
    point: ArrayLike, draws: ArrayLike, level: float = LEVEL
) -> tuple[FloatArray, FloatArray]:
    """Compute the percentile interval of an estimate's bootstrap draws, (draw, ...), as `interval`
    does, but as wide as it takes to hold the estimate.

    Example:
        >>> tuple(round(float(end), 2) for end in bootstrap_interval(2.0, np.arange(101.0), 0.9))
        (2.0, 95.0)
    """
    low, high = interval(draws, level)
    return np.minimum(low, point), np.maximum(high, point)


def jackknife_interval(
    point: float, replicates: ArrayLike, level: float = LEVEL
) -> tuple[float, float]:
    """Compute an interval around an estimate by Student's t, with the delete-a-group jackknife's
    standard error and one degree of freedom less than there are groups.

    Args:
        point: The statistic computed from all items.
        replicates: The statistic with each group left out, shape (group,).
        level: As for `t_interval`.

    Returns:
        Lower and upper end; NaN with fewer than two usable replicates.

    Example:
        >>> tuple(round(end, 2) for end in jackknife_interval(2.0, [1.5, 2.0, 2.5]))
        (-0.48, 4.48)
    """
    values = np.asarray(replicates, dtype=np.float64)
    values = values[np.isfinite(values)]
    if values.size < 2:
        return float("nan"), float("nan")
    low, high = t_interval(point, [jackknife_variance(values)], [values.size - 1], level)
    return float(low), float(high)


def permutation_p(observed: float, null: ArrayLike) -> float:
    """Compute a one-sided permutation p-value, counting the observation as one draw.

    Args:
        observed: The statistic; larger is stronger.
        null: The same statistic under permutation, shape (draw,).

    Returns:
        (1 + number of draws >= observed) / (1 + number of draws), never zero.

    Raises:
        ShapeError: If there are no draws.

    Example:
        >>> permutation_p(3.0, [1.0, 2.0, 3.0, 0.0])
        0.4
    """
    draws = np.asarray(null, dtype=np.float64).ravel()
    if draws.size == 0:
        raise ShapeError("A permutation p-value needs at least one draw from the null.")
    return float((1 + np.count_nonzero(draws >= observed)) / (1 + draws.size))


def corrected(p_value: float, tests: int) -> float:
    """Correct a p-value for as many tests as are read together (Bonferroni); NaN stays NaN.

    Example:
        >>> corrected(0.01, 3), corrected(0.5, 3)
        (0.03, 1.0)
    """
    return float(np.minimum(1.0, tests * p_value))


def corrected_level(intervals: int, level: float = LEVEL) -> float:
    """The level of each of so many intervals that hold together at a level (Bonferroni).

    Example:
        >>> round(corrected_level(5), 2)
        0.99
    """
    return 1.0 - (1.0 - level) / max(intervals, 1)


def jackknife_variance(replicates: ArrayLike) -> FloatArray:
    """Compute the jackknife variance of delete-one replicates, (replicate, ...) -> (...).

    Example:
        >>> round(float(jackknife_variance([1.5, 2.0, 2.5])), 3)
        0.333
    """
    values = np.asarray(replicates, dtype=np.float64)
    count = len(values)
    return np.asarray(
        (count - 1) / count * ((values - values.mean(axis=0)) ** 2).sum(axis=0), dtype=np.float64
    )


def projection_weights(products: ArrayLike) -> FloatArray:
    """Compute PWCCA's weights: the share of a space that each canonical variable accounts for,
    sum_j |<h_i, x_j>|.

    Args:
        products: Inner products of canonical variables with the space's neurons, (..., variable,
            neuron), both centred over the items; a common factor cancels.

    Returns:
        (..., variable), adding up to 1; all 0 if every product is 0.

    Reference:
        Morcos, Raghu & Bengio 2018, equations 3 and 4. Deviations: none. The code published with it
        (google/svcca) weighs by another sum.

    Example:
        >>> projection_weights([[3.0, 1.0], [0.0, 4.0]]).tolist()
        [0.5, 0.5]
    """
    total = np.abs(np.asarray(products, dtype=np.float64)).sum(axis=-1)
    every = total.sum(axis=-1, keepdims=True)
    return np.asarray(total / np.maximum(every, np.finfo(np.float64).tiny))


def t_interval(
    point: ArrayLike, variances: Sequence[ArrayLike], degrees: Sequence[float], level: float = LEVEL
) -> tuple[FloatArray, FloatArray]:
    """Compute an interval for an estimate with several independent sources of error, such as models
    and sentences.

    Args:
        point: The estimate.
        variances: Variance from each source, in the estimate's shape.
        degrees: Degrees of freedom of each variance: one less than what was resampled.
        level: Coverage under normality.

    Returns:
        Lower and upper end, by Student's t with the Welch-Satterthwaite degrees of freedom of the
        sum.

    Raises:
        ShapeError: If the level is not between 0 and 1, or sources and degrees do not pair up.

    Example:
        >>> tuple(round(float(end), 2) for end in t_interval(1.0, [0.04], [9]))
        (0.55, 1.45)
    """
    if not 0.0 < level < 1.0:
        raise ShapeError(f"The level of an interval lies between 0 and 1, got {level}.")
    if not variances or len(variances) != len(degrees) or min(degrees) < 1:
        raise ShapeError("Each variance needs its degrees of freedom, one or more.")
    from scipy.special import stdtrit

    sources = [np.asarray(variance, dtype=np.float64) for variance in variances]
    total = np.sum(sources, axis=0)
    parts = np.sum([source**2 / n for source, n in zip(sources, degrees, strict=True)], axis=0)
    freedom = np.where(parts > 0, total**2 / np.where(parts > 0, parts, 1.0), min(degrees))
    width = stdtrit(freedom, (1.0 + level) / 2.0) * np.sqrt(total)
    middle = np.asarray(point, dtype=np.float64)
    return middle - width, middle + width
