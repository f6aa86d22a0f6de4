"""Influence of single items on RSA: how does it change when an item is left out?

A few items with unusual vectors can decide a correlation over all pairs. RSA without the most
influential ones shows whether they do, as dropping rogue dimensions does for dimensions.

The correlation is made of five sums over pairs of items, and leaving an item out takes its row from
each, so that one pass over the pairs, a strip of rows at a time, serves all items.

Reference:
    Cook & Weisberg 1982, Residuals and Influence in Regression (influence by deletion).
Deviations: rank comparisons keep the ranks of all items, and rho-a is normalised like Spearman.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from core.maths.similarity.kernels import BLOCK, FloatArray, IntArray, Strip
from core.maths.similarity.preparing import check_pair
from core.maths.similarity.rdm import paired_strips


def influences(
    x: ArrayLike, y: ArrayLike, kernel: str = "cosine", comparison: str = "pearson"
) -> FloatArray:
    """Compute how much higher RSA is with each item than without it, shape (item,).

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        kernel: One of `KERNELS`.
        comparison: One of `COMPARISONS`.

    Returns:
        RSA minus RSA without the item, NaN where a matrix does not vary.

    Raises:
        ShapeError: If the shapes do not fit, a value is not finite, or there are fewer than 4
            items.
        SpecError: If kernel or comparison is unknown.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0], [1.0, 1.0]])
        >>> y = x * np.array([[1.0, 1.0]] * 4 + [[9.0, -1.0]])  # the last item has moved
        >>> influences(x, y).round(2).tolist()
        [0.2, 0.21, 0.1, -0.06, -0.42]
    """
    first, second = check_pair(x, y, 4)
    items = len(first)
    sums = _row_sums(*paired_strips(first, second, kernel, comparison), items)
    totals = sums.sum(axis=1, keepdims=True)
    whole = _correlation(totals, items * (items - 1))
    return whole - _correlation(totals - 2.0 * sums, (items - 1) * (items - 2))


def without_influential(
    x: ArrayLike,
    y: ArrayLike,
    percent: float,
    kernel: str = "cosine",
    comparison: str = "pearson",
) -> IntArray:
    """List the items that are left without the most influential ones, in order.

    Influence counts in both directions: items whose absence raises RSA go as well as items whose
    absence lowers it.

    Args:
        x, y, kernel, comparison: As for `influences`.
        percent: Share of the items that are dropped, in per cent, rounded up to whole items.

    Example:
        >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0], [1.0, 1.0]])
        >>> y = x * np.array([[1.0, 1.0]] * 4 + [[9.0, -1.0]])
        >>> without_influential(x, y, 1.0).tolist()
        [0, 1, 2, 3]
    """
    size = np.nan_to_num(np.abs(influences(x, y, kernel, comparison)))
    return np.sort(np.argsort(-size, kind="stable")[math.ceil(len(size) * percent / 100.0) :])


def _row_sums(first: Strip, second: Strip, items: int) -> FloatArray:
    """Sum k, l, kl, kk and ll of each item over all others, shape (5, item)."""
    sums = np.zeros((5, items))
    sample = min(items, BLOCK // 2)
    shift = float(first(0, sample).mean()), float(second(0, sample).mean())
    for start in range(0, items, BLOCK):
        stop = min(start + BLOCK, items)
        k, l = first(start, stop) - shift[0], second(start, stop) - shift[1]  # noqa: E741
        np.fill_diagonal(k, 0.0)
        np.fill_diagonal(l, 0.0)
        for row, product in zip(sums, (k, l, k * l, k * k, l * l), strict=True):
            row[start:stop] += product.sum(axis=1)
            row[stop:] += product[:, stop - start :].sum(axis=0)
    return sums


def _correlation(totals: FloatArray, pairs: int) -> FloatArray:
    """Compute the correlation from the five sums over ordered pairs, (5, ...) -> (...)."""
    k, l, kl, kk, ll = totals / pairs  # noqa: E741
    spread = (kk - k**2) * (ll - l**2)
    flat = spread <= np.finfo(np.float64).eps ** 2 * kk * ll
    return np.asarray((kl - k * l) / np.sqrt(np.where(flat, np.nan, spread)))
