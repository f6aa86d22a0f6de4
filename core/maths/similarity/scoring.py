"""A similarity with its band over sentences and its chance level.

A band is a delete-a-group jackknife over sentences with Student's t. A bootstrap repeats whole
sentences, so that its draws do not lie around the estimate: an item's own copy is its nearest
neighbour in every space, canonical correlations grow as different items get fewer, and the pairs
within a sentence, which are alike in models that read context, count once for each pair of copies.
Chance level comes from shuffling whole sentences (`nulls`).

Reference:
    Gröger, Wen & Brbić 2026, Revisiting the Platonic Representation Hypothesis (calibrated scores).
Deviations: the threshold is the 97.5 % point of the null, where the grey band of the figures ends,
and scores below chance stay negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from core.maths.similarity.kernels import FloatArray, IntArray
from core.maths.similarity.nulls import pair_sentences
from core.maths.similarity.registry import Measure, Options, get_measure
from core.maths.statistics import (
    interval,
    jackknife_interval,
    jackknife_variance,
    sentence_labels,
    t_interval,
)

JACKKNIFE_GROUPS = 50
NULL_DRAWS = 100
LEAST_NULL_DRAWS = 20
COVERAGE = (
    "In simulations with 10 to 200 sentences, bands of similarities over sentences cover 88 to "
    "99 % for RSA, CKA, the mean cosine and Procrustes similarity, and 96 to 100 % for CCA, SVCCA, "
    "PWCCA and mutual k-NN, whose bands are wider than need be."
)  # of `sentence_band`, for caveats
UNCHANGED = 1e-6  # a similarity that is closer to 1 is that of equal vectors or outputs
SATURATED = 1e-6  # chance level that is closer to 1 leaves no room to tell anything apart
SCORED = ("similarity", "low", "high", "null_high")  # columns that a calibrated score is made of
CALIBRATED = ("calibrated", "calibrated_low", "calibrated_high")
# multiplications for a null: 100 draws at n = 1,000, d = 128; fewer draws where each costs more
NULL_WORK = 4e10


@dataclass(frozen=True)
class Score:
    """A similarity with its 95 % band over sentences, and the central 95 % of shuffled sentences
    (chance level)."""

    similarity: float
    low: float
    high: float
    null_low: float
    null_high: float


def score(
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    rng: np.random.Generator,
    measure: str = "rsa",
    options: Options | None = None,
) -> Score:
    """Compute the similarity of two spaces with its band over sentences and its chance level.

    Args:
        x: Vectors, shape (item, d_model).
        y: Vectors of the same items, shape (item, another d_model).
        sentence: Sentence of each item, shape (item,).
        rng: Source of randomness, for the band and the chance level.
        measure: One of `MEASURES`.
        options: Kernel and comparison, for RSA.

    Returns:
        The score. The band is NaN with fewer than two sentences; everything is NaN for a constant
        space.

    Raises:
        ShapeError: If the shapes do not fit or a value is not finite.
        SpecError: If measure, kernel or comparison is unknown.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(60, 4))
        >>> y = x + 0.2 * np.random.default_rng(1).normal(size=(60, 4))
        >>> scored = score(x, y, np.arange(60) // 3, np.random.default_rng(2))
        >>> bool(scored.low < scored.similarity < scored.high)
        True
        >>> bool(scored.null_high < scored.low)
        True
    """
    settings = options or Options()
    method = get_measure(measure, settings)
    similarity = method.similarity(x, y)
    if np.isnan(similarity):
        return Score(*[float("nan")] * 5)
    low, high = sentence_band(method, x, y, sentence, rng, similarity)
    items, dimensions = np.shape(x)
    paired, orders = pair_sentences(sentence, null_draws(method, items, dimensions, settings), rng)
    null_low, null_high = interval(
        method.null_of(np.asarray(x)[paired], np.asarray(y)[paired], orders)
    )
    return Score(similarity, low, high, float(null_low), float(null_high))


def calibrate(
    similarity: ArrayLike, low: ArrayLike, high: ArrayLike, null_high: ArrayLike
) -> dict[str, FloatArray]:
    """Calibrate similarities by their chance level t: (s - t) / (1 - t), 0 at t and 1 at equality.

    Args:
        similarity, low, high: Similarities and their bands, any shape.
        null_high: Upper ends of their chance levels, the same shape.

    Returns:
        `calibrated`, `calibrated_low` and `calibrated_high`; NaN where chance reaches 1
        (`saturated`). The bands take the chance level as known.

    Example:
        >>> {name: round(float(value), 2) for name, value in calibrate(0.7, 0.6, 0.8, 0.4).items()}
        {'calibrated': 0.5, 'calibrated_low': 0.33, 'calibrated_high': 0.67}
    """
    chance = np.asarray(null_high, dtype=np.float64)
    room = np.where(saturated(chance), np.nan, 1.0 - chance)
    return {
        name: np.asarray((np.asarray(values, dtype=np.float64) - chance) / room)
        for name, values in zip(CALIBRATED, (similarity, low, high), strict=True)
    }


def saturated(null_high: ArrayLike) -> NDArray[np.bool_]:
    """Whether chance level reaches 1, so that unrelated spaces score as high as equal ones.

    Args:
        null_high: Upper ends of chance levels, any shape; NaN is not.

    Example:
        >>> saturated([0.4, 1.0 - 1e-12, np.nan]).tolist()
        [False, True, False]
    """
    return np.asarray(null_high, dtype=np.float64) >= 1.0 - SATURATED


def null_draws(measure: Measure, items: int, dimensions: int, options: Options) -> int:
    """Choose the number of shuffles for a null of this size: 100, or as few as 20 where one is
    expensive.

    Example:
        >>> null_draws(get_measure("rsa"), 100, 16, Options())
        100
    """
    cost = float(items) * dimensions**2
    if measure.name == "rsa" and (options.kernel == "euclidean" or options.comparison != "pearson"):
        cost = 10.0 * float(items) ** 2  # a gather and a product over the whole matrix
    if measure.canonical or measure.name == "procrustes":
        cost += 20.0 * float(min(items, dimensions)) ** 3
    if measure.name in ("cosine", "knn"):  # a gather: neighbours are found once
        cost = float(items) * dimensions
    return int(np.clip(NULL_WORK / (10.0 * cost), LEAST_NULL_DRAWS, NULL_DRAWS))


def sentence_band(
    measure: Measure,
    x: ArrayLike,
    y: ArrayLike,
    sentence: ArrayLike,
    rng: np.random.Generator,
    similarity: float,
) -> tuple[float, float]:
    """Compute the 95 % band over sentences of a similarity.

    Args:
        measure: With its options.
        x, y, sentence: As for `score`.
        rng: Assigns sentences to the groups that are left out.
        similarity: Of x and y, by the measure.

    Returns:
        Lower and upper end, which enclose the similarity and, except for rounding, stay within the
        measure's range; NaN with fewer than two sentences.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(60, 4))
        >>> low, high = sentence_band(get_measure("rsa"), x, x, np.arange(60) // 3,
        ...     np.random.default_rng(1), 1.0)
        >>> round(low, 6), round(high, 6)
        (1.0, 1.0)
    """
    if sentence_labels(sentence)[1] < 2:
        return float("nan"), float("nan")
    below, above = jackknife_interval(
        similarity, measure.replicates(x, y, sentence, JACKKNIFE_GROUPS, rng)
    )
    # A similarity may lie outside the range by rounding.
    lowest, highest = min(measure.lowest, similarity), max(1.0, similarity)
    return max(below, lowest), min(above, highest)


def distance_ratios(
    distances: FloatArray, replicates: Sequence[FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Divide distances by the geometric mean of those after random changes, with 95 % intervals.

    Args:
        distances: Of each layer's real change and then of the random ones, (layer, 1 + turn).
        replicates: Of each layer the same with groups of sentences left out, (1 + turn, group); no
            groups where there is one sentence.

    Returns:
        The ratio and its ends, each (layer,), by Student's t on its logarithm: over sentences
        (jackknife), and over random changes, of which the real one is another draw where nothing is
        special about it; their variance is that of all layers together. NaN where nothing moved by
        more than UNCHANGED; ends are NaN without groups.

    Example:
        >>> distances = np.array([[0.4, 0.1, 0.1, 0.1]])
        >>> ends = distance_ratios(distances, distances[..., None] * [0.9, 1.0, 1.1])
        >>> [round(float(end[0]), 6) for end in ends]
        [4.0, 4.0, 4.0]
    """
    moved: NDArray[np.bool_] = np.all(distances > UNCHANGED, axis=1)
    logs = np.log(np.where(moved[:, None], distances, 1.0))
    estimate = np.where(moved, logs[:, 0] - logs[:, 1:].mean(1), np.nan)
    low, high = np.full((2, len(distances)), np.nan)
    turns = distances.shape[1] - 1
    spread = float(logs[moved, 1:].var(1, ddof=1).mean()) * (1 + 1 / turns) if moved.any() else 0.0
    for layer in map(int, np.flatnonzero(moved)):
        groups = replicates[layer].shape[1]
        if groups > 1:
            with np.errstate(invalid="ignore", divide="ignore"):
                parts = np.log(replicates[layer])
            variances = [jackknife_variance(parts[0] - parts[1:].mean(0)), spread]
            low[layer], high[layer] = t_interval(
                estimate[layer], variances, [groups - 1, (turns - 1) * int(moved.sum())]
            )
    return np.exp(estimate), np.exp(low), np.exp(high)


def mean_band(
    values: FloatArray, sentence: IntArray, *, positive: bool = False
) -> tuple[float, float]:
    """Compute the 95 % interval of a mean over words, leaving out one sentence at a time.

    Args:
        values: One number a word.
        sentence: Sentence of each word.
        positive: Whether the mean is that of a skewed quantity above 0, whose logarithm's interval
            is computed.

    Returns:
        Lower and upper end; NaN where all words are of one sentence.

    Example:
        >>> low, high = mean_band(np.array([1.0, 2.0, 3.0]), np.array([0, 1, 2]))
        >>> round(low, 2), round(high, 2)
        (-0.48, 4.48)
    """
    labels, sentences = sentence_labels(sentence)
    if sentences < 2:
        return float("nan"), float("nan")
    mean = float(values.mean())
    means = (values.sum() - np.bincount(labels, values)) / (len(values) - np.bincount(labels))
    if not positive or means.min() <= 0:
        return jackknife_interval(mean, means)
    low, high = jackknife_interval(math.log(mean), np.log(means))
    return min(math.exp(low), mean), max(math.exp(high), mean)
