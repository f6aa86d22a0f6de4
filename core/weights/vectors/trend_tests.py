"""Does an outcome go with depth, although neighbouring layers are alike?

A family of matrices gives one number per layer. Neighbouring layers resemble each other, so a
series without any trend wanders, and a criterion for independent points, such as AICc, takes the
wandering for a line or a parabola. The null hypothesis here is a level with errors of lag-1
correlation. The statistic is the likelihood ratio of a parabola and a level, each with its own
correlation. Its null distribution keeps the correlation estimated without a trend: the parabola's
residuals are made independent by it, permuted, correlated again, and everything is estimated anew.

References: ter Braak 1992 (permutation of the full model's residuals; see Anderson & ter Braak
2003); Patterson & Thompson 1971 (the likelihood of residuals, by which the correlation is
estimated). Deviations: the correlation takes one of `CORRELATIONS`; negative ones are not
considered, because neighbouring layers are not less alike than distant ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError
from core.statistics import permutation_p

SIGNIFICANT = 0.05  # p-value, corrected for the families, below which a trend is called
NO_TREND = "no detectable trend"
FEWEST = 6  # points: with fewer, a parabola and a correlation leave no residuals to permute
CORRELATIONS = tuple(np.linspace(0.0, 0.95, 20))  # of neighbouring layers
DRAWS = 999
EXACT = 1e-12  # share of the variance left by a parabola, up to which its fit counts as perfect
LEVEL, PARABOLA = 1, 3  # coefficients of the two models


@dataclass(frozen=True)
class _Correlated:
    """The two models under one correlation of neighbours.

    Attributes:
        mixing: Makes independent errors correlated, shape (point, point).
        residuals: For each model, by its number of coefficients: gives the residuals of an outcome
            made independent, shape (point, point).
        spread: Log determinant of the correlation matrix.
        freedom: Log determinant of the level's information, for the likelihood of residuals.
    """

    mixing: Float[ndarray, "point point"]
    residuals: dict[int, Float[ndarray, "point point"]]
    spread: float
    freedom: float


def trend_p_value(
    x: Float[ndarray, " point"], y: Float[ndarray, " point"], draws: int = DRAWS, seed: int = 0
) -> float:
    """Compute the permutation p-value of a trend over depth, keeping the correlation of neighbours.

    Args:
        x: Depth, each once.
        y: Outcome at each depth; values that are not finite are left out.
        draws: Permutations.
        seed: Of the permutations.

    Returns:
        NaN with fewer than 6 points; 1 where the outcome does not vary.

    Raises:
        ShapeError: If x and y differ in length, or a depth occurs twice.

    Example:
        >>> depth = np.arange(12.0)
        >>> noise = np.random.default_rng(0).normal(size=12)
        >>> trend_p_value(depth, 3 * depth + noise) < 0.05, trend_p_value(depth, noise) < 0.05
        (True, False)
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.ndim != 1:
        raise ShapeError(f"A trend needs as many depths as outcomes, got {x.shape} and {y.shape}.")
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(np.unique(x)) < len(x):
        raise ShapeError("A trend needs one point per depth; average those of equal depth first.")
    if len(x) < FEWEST:
        return float("nan")
    outcome = (y - y.mean())[:, None]
    size = float((outcome**2).sum())
    if size <= EXACT * max(float((y**2).sum()), 1.0):
        return 1.0
    models = _models(tuple(x))
    chosen = models[int(np.argmax(_likelihoods(outcome, models, LEVEL, restricted=True)[:, 0]))]
    errors = (chosen.residuals[PARABOLA] @ outcome)[:, 0]
    if float((errors**2).sum()) <= EXACT * size:  # no permutation of noise fits as well
        return 1 / (1 + draws)
    rng = np.random.default_rng(seed)
    null = chosen.mixing @ rng.permuted(np.tile(errors[:, None], (1, draws)), axis=0)
    return permutation_p(float(_ratio(outcome, models)[0]) - 1e-9, _ratio(null, models))


def _ratio(
    outcomes: Float[ndarray, "point draw"], models: tuple[_Correlated, ...]
) -> Float[ndarray, " draw"]:
    """Log likelihood ratio of a parabola and a level, each at its best correlation."""
    bent, flat = (
        _likelihoods(outcomes, models, coefficients).max(0) for coefficients in (PARABOLA, LEVEL)
    )
    ratio: ndarray = bent - flat
    return ratio


def _likelihoods(
    outcomes: Float[ndarray, "point draw"],
    models: tuple[_Correlated, ...],
    coefficients: int,
    restricted: bool = False,
) -> Float[ndarray, "correlation draw"]:
    """Log likelihood by correlation, up to a constant; that of the residuals if restricted."""
    points = len(outcomes)
    likelihoods = []
    for model in models:
        error = ((model.residuals[coefficients] @ outcomes) ** 2).sum(0)
        weight = points - coefficients if restricted else points
        penalty = model.spread + (model.freedom if restricted else 0.0)
        likelihoods.append(-0.5 * (weight * np.log(error + np.finfo(float).tiny) + penalty))
    return np.array(likelihoods)


@lru_cache(maxsize=64)
def _models(depths: tuple[float, ...]) -> tuple[_Correlated, ...]:
    """Prepare the level and the parabola at these depths for each correlation."""
    x = np.asarray(depths)
    centred = (x - x.mean()) / np.ptp(x)
    powers = np.vander(centred, PARABOLA, increasing=True)
    apart = np.abs(x[:, None] - x)
    models = []
    for correlation in CORRELATIONS:
        mixing = np.linalg.cholesky(np.power(correlation, apart))
        unmixing = np.linalg.inv(mixing)
        residuals = {}
        for coefficients in (LEVEL, PARABOLA):
            basis, _ = np.linalg.qr(unmixing @ powers[:, :coefficients])
            residuals[coefficients] = unmixing - basis @ (basis.T @ unmixing)
        information = float(((unmixing @ powers[:, :LEVEL]) ** 2).sum())
        spread = 2 * float(np.log(np.diag(mixing)).sum())
        models.append(_Correlated(mixing, residuals, spread, float(np.log(information))))
    return tuple(models)
