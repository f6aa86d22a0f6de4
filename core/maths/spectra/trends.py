"""Trends over depth: a constant, a line or a parabola, chosen by AICc.

Trends are fitted to the means of layers, one point per layer. The points of single models are not
independent: all models share what is particular to a layer, so a fit to the pooled points would
find a parabola in most data without a trend. AICc penalises a parabola strongly with six points and
excludes it with fewer.

A trend describes the layers and is not tested. Neighbouring layers resemble each other, in ways
that 6 to 24 points cannot show, and AICc takes most smooth series without a trend for a trend
(`benchmarks.depth_trends`).

References: Akaike 1974; Hurvich & Tsai 1989 (the correction for few points). Deviations: none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError

MINIMUM = 5  # points: with fewer, AICc is undefined for a line
KINDS = ("constant", "linear", "quadratic")


@dataclass(frozen=True)
class Trend:
    """A fitted polynomial.

    Attributes:
        kind: "constant", "linear" or "quadratic", the one with the lowest AICc.
        coefficients: Of x^0 (, x^1 (, x^2)).
        r2: Share of the variance explained; NaN when the points do not vary.
        aicc: By kind; only differences are meaningful; infinite with too few points.
    """

    kind: str
    coefficients: tuple[float, ...]
    r2: float
    aicc: dict[str, float]

    def at(self, x: Float[ndarray, " point"]) -> Float[ndarray, " point"]:
        """Evaluate the trend at each x."""
        values: ndarray = np.polynomial.polynomial.polyval(np.asarray(x, float), self.coefficients)
        return values


def fit_trend(x: Float[ndarray, " point"], y: Float[ndarray, " point"]) -> Trend | None:
    """Fit a constant, a line and a parabola by least squares; return the one with the lowest AICc.

    Args:
        x: Depth (layer number), each once.
        y: Mean outcome at each depth; values that are not finite are left out.

    Returns:
        None with fewer than 5 points.

    Raises:
        ShapeError: If x and y differ in length, or a depth occurs twice.

    Example:
        >>> trend = fit_trend(np.arange(6.0), np.array([1.0, 3.1, 4.9, 7.0, 9.1, 10.9]))
        >>> trend.kind, [round(float(coefficient), 1) for coefficient in trend.coefficients]
        ('linear', [1.0, 2.0])
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.ndim != 1:
        raise ShapeError(f"A trend needs as many depths as outcomes, got {x.shape} and {y.shape}.")
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(np.unique(x)) < len(x):
        raise ShapeError("A trend needs one point per depth; average those of equal depth first.")
    if len(x) < MINIMUM:
        return None
    fits = {kind: _fit(x, y, degree) for degree, kind in enumerate(KINDS)}
    aicc = {kind: _aicc(y, error, degree) for degree, (kind, (_, error)) in enumerate(fits.items())}
    kind = min(KINDS, key=aicc.__getitem__)
    coefficients, error = fits[kind]
    spread = fits["constant"][1]
    r2 = 1 - error / spread if spread > _floor(y) else np.nan
    return Trend(kind, tuple(float(c) for c in coefficients), float(r2), aicc)


def least_share(points: int) -> float:
    """Share of the variance that a line has to explain for AICc to prefer it to a constant.

    Example:
        >>> round(least_share(6), 2)
        0.81
    """
    constant, line = _penalty(points, 2), _penalty(points, 3)
    return float(1 - np.exp((constant - line) / points))


def _fit(x: ndarray, y: ndarray, degree: int) -> tuple[ndarray, float]:
    coefficients = np.polynomial.polynomial.polyfit(x, y, degree)
    return coefficients, float(((y - np.polynomial.polynomial.polyval(x, coefficients)) ** 2).sum())


def _aicc(y: ndarray, error: float, degree: int) -> float:
    points, parameters = len(y), degree + 2  # coefficients and error variance
    if points - parameters - 1 < 1:
        return float(np.inf)
    likelihood = points * np.log(max(error, _floor(y)) / points)
    return float(likelihood + _penalty(points, parameters))


def _penalty(points: int, parameters: int) -> float:
    return 2 * parameters + 2 * parameters * (parameters + 1) / (points - parameters - 1)


def _floor(y: ndarray) -> float:
    """Bound the error by rounding, so that the simplest of several perfect fits wins."""
    return max(float((y**2).sum()), 1.0) * 1e-24
