"""Areas under the ROC curve over the layers of several models, with bands over fine-tunes.

A model's layers stand or fall together, and so do the planted models of one fine-tune: fine-tunes
are what is independent, so one of them is left out at a time, with all its planted models.

References:
    Efron & Tibshirani 1993, An Introduction to the Bootstrap, ch. 11 (jackknife). Hothorn, Bretz &
    Westfall 2008, Simultaneous inference in general parametric models (the maximum of correlated
    t-statistics).
Deviations: the scale is the logit of the AUC, and an AUC nearer to 0 or 1 than END counts as that
near; the correlations of the t-statistics are those of the replicates. `benchmarks.coverage`
simulates both.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from core.maths.ranks import area
from core.maths.statistics import jackknife_interval, jackknife_variance

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
END = 1e-4  # the nearest to 0 or 1 that an AUC is taken for where a band is computed
LARGE = 700.0  # whose exponential is finite
SIMULATED = 20_000  # draws of the largest t-statistic


def area_at_equal_depth(changed: BoolArray, score: FloatArray) -> float:
    """Compute the AUC over pairs of layers with the same number, so that depth does not help, of
    (model, layer); NaN without pairs."""
    areas, weights = [], []
    for truth, mine in zip(changed.T, score.T, strict=True):
        pairs = int(truth.sum()) * int((~truth).sum())
        if pairs:
            areas.append(area(truth, mine))
            weights.append(pairs)
    return float(np.average(areas, weights=weights)) if weights else float("nan")


def area_replicates(changed: BoolArray, score: FloatArray) -> FloatArray:
    """Compute the logit of the AUC over all layers without each fine-tune, (fine-tune,), of
    (fine-tune, planted model, layer)."""
    return np.array(
        [
            logit(area(np.delete(changed, out, 0).ravel(), np.delete(score, out, 0).ravel()))
            for out in range(len(score))
        ]
    )


def area_band(value: float, replicates: FloatArray) -> tuple[float, float]:
    """Compute the 95 % interval of an AUC over fine-tunes, which encloses it; NaN with fewer than
    two."""
    low, high = (expit(end) for end in jackknife_interval(logit(value), replicates))
    return min(low, value), max(high, value)  # beyond END, too


def lows_together(values: FloatArray, replicates: FloatArray, seed: int) -> FloatArray:
    """Compute lower ends of AUCs that hold together for several measures, (measure,). They are
    neither independent nor copies of each other, so the largest of their t-statistics is simulated
    with the correlations of the replicates (measure, fine-tune)."""
    errors, wide = np.sqrt(jackknife_variance(replicates.T)), _critical_value(replicates, seed)
    return np.array(
        [
            min(expit(logit(value) - wide * error), value)
            for value, error in zip(values, errors, strict=True)
        ]
    )


def _critical_value(replicates: FloatArray, seed: int) -> float:
    """Simulate the 97.5 % point of the largest t-statistic of measures that guess."""
    tuned, rng = replicates.shape[1], np.random.default_rng(seed)
    apart = replicates - replicates.mean(axis=1, keepdims=True)
    norms = np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), np.finfo(float).tiny)
    normal = rng.standard_normal((SIMULATED, tuned)) @ (apart / norms).T
    spread = np.sqrt(rng.chisquare(tuned - 1, (SIMULATED, 1)) / (tuned - 1))
    return float(np.quantile((normal / spread).max(axis=1), 0.975))


def logit(value: float) -> float:
    """Compute the log odds of an AUC, no nearer to 0 or 1 than END."""
    inside = min(max(value, END), 1.0 - END) if value == value else value
    return math.log(inside / (1.0 - inside))


def expit(value: float) -> float:
    """Invert `logit`."""
    return 0.0 if value < -LARGE else 1.0 / (1.0 + math.exp(-value))
