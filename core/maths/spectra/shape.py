"""The shape of a cloud of vectors: how many directions it fills, and how unevenly.

References: Garrido, Balestriero, Najman & LeCun 2023, ICML, RankMe (effective rank); Agrawal,
Mondal, Ghosh & Richards 2022, NeurIPS, alpha-ReQ (slope of the spectrum); Ethayarajh 2019, EMNLP
(mean cosine of random pairs); Shao & Wu 1989, Annals of Statistics (jackknife of groups).
Deviations: RankMe's entropy is of singular values, of centred vectors here, so that a common mean
counts as no direction; the slope is fitted up to half of the rank, where sampling has not bent the
spectrum.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from core.errors import ShapeError
from core.maths.spectra.spectra import entropy_rank
from core.maths.statistics import t_interval

EFFECTIVE_RANK, SLOPE, FIRST, COSINE = "effective_rank", "slope", "first_share", "mean_cosine"
MEASURES = (EFFECTIVE_RANK, SLOPE, FIRST, COSINE)
BLOCKS = 20  # of sentences, each left out once
FITTED_FROM, FEWEST = 10, 5  # first eigenvalue of the slope, and how many a fit needs
ROUNDING = 1e-12  # of the largest eigenvalue: smaller ones are no direction


def shape_of(vectors: Float[ndarray, "item dim"]) -> dict[str, float]:
    """Measure a cloud of vectors.

    Returns:
        `effective_rank`: exponential of the entropy of the singular values, 1 to d; `slope`: a,
        where eigenvalue i of the covariance falls as i ** -a; `first_share`: share of the variance
        along the first direction; `mean_cosine`: of two vectors, not centred. NaN where all vectors
        are equal, or too few directions are filled for a slope.

    Raises:
        ShapeError: If there are fewer than two vectors.

    Example:
        >>> corners = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> {name: round(value, 3) for name, value in shape_of(corners).items() if value == value}
        {'effective_rank': 2.0, 'first_share': 0.5, 'mean_cosine': -0.333}
    """
    (values,) = _measured(vectors, np.zeros(len(vectors), dtype=np.int64), 0)
    return dict(zip(MEASURES, values.tolist(), strict=True))


def shape_intervals(
    vectors: Float[ndarray, "item dim"], group: Int[ndarray, " item"]
) -> dict[str, tuple[float, float, float]]:
    """Measure a cloud, with 95 % intervals over the groups that its vectors come in.

    Args:
        vectors: Of all items.
        group: Sentence of each item, from 0; neighbours go into one of `BLOCKS` blocks.

    Returns:
        Measure -> value, lower and upper end; the ends are NaN of fewer than two sentences.

    Example:
        >>> corners = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
        >>> value, low, high = shape_intervals(corners, np.array([0, 0, 1, 1]))["first_share"]
        >>> value, low <= value <= high
        (0.5, True)
    """
    sentences = int(group.max()) + 1
    blocks = min(BLOCKS, sentences)
    value, *without = _measured(vectors, group * blocks // sentences, blocks)
    if blocks < 2:
        ends = (np.nan, np.nan)
        return {name: (point, *ends) for name, point in zip(MEASURES, value.tolist(), strict=True)}
    left = np.array(without)
    variance = (blocks - 1) / blocks * ((left - left.mean(0)) ** 2).sum(0)
    low, high = t_interval(value, [variance], [blocks - 1])
    rows = zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    return dict(zip(MEASURES, rows, strict=True))


def _measured(
    vectors: Float[ndarray, "item dim"], block: Int[ndarray, " item"], blocks: int
) -> Iterator[Float[ndarray, " measure"]]:
    """Measure all vectors, then all but each block: sums of a block are taken from those of all."""
    rows = np.asarray(vectors, dtype=np.float64)
    if len(rows) < 2:
        raise ShapeError(f"A cloud needs two vectors, and there are {len(rows)}.")
    centred = rows - rows.mean(0)  # so that differences of large numbers keep their digits
    with np.errstate(invalid="ignore", divide="ignore"):
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    gram, total, unit, count = centred.T @ centred, centred.sum(0), units.sum(0), len(rows)
    yield _values(gram, total, unit, count)
    for number in range(blocks):
        mine = block == number
        part = centred[mine]
        yield _values(
            gram - part.T @ part, total - part.sum(0), unit - units[mine].sum(0), count - len(part)
        )


def _values(
    gram: Float[ndarray, "dim dim"],
    total: Float[ndarray, " dim"],
    unit: Float[ndarray, " dim"],
    count: int,
) -> Float[ndarray, " measure"]:
    """The measures of `count` vectors, of their products, their sum, and that of unit vectors."""
    if count < 2:
        return np.full(len(MEASURES), np.nan)
    spectrum = np.linalg.eigvalsh(gram - np.outer(total, total) / count)[::-1]
    spectrum = np.where(spectrum > ROUNDING * max(spectrum[0], 0.0), spectrum, 0.0)
    if not spectrum[0] > 0:
        return np.array([np.nan, np.nan, np.nan, (unit @ unit - count) / (count * (count - 1))])
    return np.array(
        [
            float(entropy_rank(np.sqrt(spectrum))),
            _slope(spectrum[spectrum > 0]),
            spectrum[0] / spectrum.sum(),
            (unit @ unit - count) / (count * (count - 1)),
        ]
    )


def _slope(spectrum: Float[ndarray, " value"]) -> float:
    """Fit a power law to falling eigenvalues, by least squares of logarithms."""
    last = len(spectrum) // 2
    first = FITTED_FROM if last >= FITTED_FROM + FEWEST else 1
    if last - first + 1 < FEWEST:
        return float("nan")
    places = np.arange(first, last + 1)
    return float(-np.polyfit(np.log(places), np.log(spectrum[first - 1 : last]), 1)[0])
