"""Areas under the ROC curve over the layers of several models, with bands over fine-tunes and
masks.

A model's layers stand or fall together, and so do the planted models of one fine-tune. A draw of
the bootstrap therefore takes fine-tunes with replacement and, within each, units of its planted
models: pairs of a choice of layers and its complement, in which every layer is changed once.

Reference:
    Davison & Hinkley 1997, Bootstrap Methods and Their Application, ch. 3.8 (two-stage bootstrap).
Deviations: the interval is Student's t over fine-tunes with the draws' standard deviation, because
percentiles of so few fine-tunes are too narrow; `benchmarks.coverage` simulates both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.statistics import average_ranks, t_interval

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def area(changed: BoolArray, score: FloatArray) -> float:
    """Compute the AUC: the probability that a changed layer scores above an unchanged one, ties
    counting half.

    Args:
        changed: Whether each layer changed, (layer,).
        score: Higher for what looks more changed, (layer,).

    Returns:
        A number in [0, 1]; NaN unless there are changed and unchanged layers.
    """
    positive, total = int(changed.sum()), len(changed)
    if positive in (0, total):
        return float("nan")
    above = average_ranks(score)[changed].sum() - positive * (positive + 1) / 2
    return float(above / (positive * (total - positive)))


def area_at_equal_depth(changed: BoolArray, score: FloatArray) -> float:
    """Compute the AUC over pairs of layers with the same number, so that depth does not help; NaN
    without pairs.

    Args:
        changed, score: As for `area`, (model, layer).
    """
    areas, weights = [], []
    for truth, mine in zip(changed.T, score.T, strict=True):
        pairs = int(truth.sum()) * int((~truth).sum())
        if pairs:
            areas.append(area(truth, mine))
            weights.append(pairs)
    return float(np.average(areas, weights=weights)) if weights else float("nan")


def area_draws(
    changed: BoolArray, score: FloatArray, unit: NDArray[np.int64], counts: NDArray[np.int64]
) -> FloatArray:
    """Compute the AUC of every bootstrap draw, from one count of the pairs between units, (draw,).

    Args:
        changed, score: As for `area`, (model, layer).
        unit: Unit of each model that is drawn as a whole, from 0, (model,).
        counts: How often each draw has each unit, (draw, unit).

    Returns:
        AUCs; NaN for a draw without changed or without unchanged layers.
    """
    units = np.repeat(unit, score.shape[1])
    truth, values, number = changed.ravel(), score.ravel(), counts.shape[1]
    unchanged, owner = values[~truth], units[~truth]
    above = np.zeros((number, number))  # pairs of a changed layer of one unit above one of another
    for each in range(number):
        mine = np.sort(values[truth & (units == each)])
        lower, upper = (np.searchsorted(mine, unchanged, side) for side in ("left", "right"))
        above[each] = np.bincount(owner, len(mine) - 0.5 * (lower + upper), minlength=number)
    weights = counts.astype(np.float64)
    pairs = (weights @ np.bincount(units[truth], minlength=number)) * (
        weights @ np.bincount(owner, minlength=number)
    )
    total = np.einsum("du,uv,dv->d", weights, above, weights, optimize=True)
    return np.asarray(np.divide(total, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0))


def draw_units(tuned: int, units: int, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw fine-tunes with replacement and units within each draw of one, (draw, fine-tune * unit).

    Args:
        tuned: Number of fine-tunes.
        units: Units of each fine-tune.
        draws: Number of draws.
        rng: Source of randomness.
    """
    chosen = rng.integers(0, tuned, (draws, tuned))
    within = rng.multinomial(units, np.full(units, 1.0 / units), size=(draws, tuned))
    counts = np.zeros((draws, tuned, units), dtype=np.int64)
    np.add.at(counts, (np.arange(draws)[:, None], chosen), within)
    return counts.reshape(draws, tuned * units)


def area_band(
    changed: BoolArray, score: FloatArray, paired: int, draws: int, seed: int
) -> tuple[float, float]:
    """Compute the 95 % interval of the AUC over all layers, over fine-tunes and planted models.

    Args:
        changed, score: (fine-tune, planted model, layer).
        paired: How many planted models in a row are one unit.
        draws: Number of bootstrap draws.
        seed: Seed of the draws.

    Returns:
        Its ends, within 0 and 1.
    """
    tuned, plants, layers = score.shape
    units = -(-plants // paired)
    unit = (np.arange(tuned)[:, None] * units + np.arange(plants) // paired).ravel()
    counts = draw_units(tuned, units, draws, np.random.default_rng(seed))
    truth, values = changed.reshape(-1, layers), score.reshape(-1, layers)
    spread = np.nanvar(area_draws(truth, values, unit, counts), ddof=1)
    low, high = t_interval(area(truth.ravel(), values.ravel()), [spread], [tuned - 1])
    return max(float(low), 0.0), min(float(high), 1.0)


def corrected_low(value: float, low: float, tuned: int, tests: int) -> float:
    """Widen the lower half of a band for as many measures as are read together (Bonferroni).

    Args:
        value, low: An AUC and the lower end of its band.
        tuned: Number of fine-tunes that the band is over.
        tests: Number of measures.
    """
    from scipy.special import stdtrit

    wider = stdtrit(tuned - 1, 1.0 - 0.025 / tests) / stdtrit(tuned - 1, 0.975)
    return float(value - wider * (value - low))
