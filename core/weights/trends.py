"""A trend over depth: a line or a parabola, chosen by AIC, written as an equation with its R2.

Reference: Akaike 1974. Deviations: none (no small-sample correction, so with few points a parabola is chosen
a little too readily; the table gives both AICs).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from core.errors import ShapeError

MINIMUM = 4  # points; below that a parabola and its error have no freedom left


@dataclass(frozen=True)
class Trend:
    """A fitted polynomial.

    Attributes:
        kind: "linear" or "quadratic", whichever has the lower AIC.
        coefficients: Of x^0, x^1 (, x^2).
        r2: Share of the variance explained; NaN when the points do not vary.
        aic_linear: AIC of the line (relative: only differences mean anything).
        aic_quadratic: AIC of the parabola.
    """

    kind: str
    coefficients: tuple[float, ...]
    r2: float
    aic_linear: float
    aic_quadratic: float

    def equation(self, outcome: str = "rank", variable: str = "layer") -> str:
        """The trend as text: "rank = 12.1 + 3.4 layer - 0.2 layer²  (R² = 0.93)"."""
        text = f"{outcome} = {_number(self.coefficients[0])}"
        for power, coefficient in enumerate(self.coefficients[1:], start=1):
            sign = "-" if coefficient < 0 else "+"
            text += f" {sign} {_number(abs(coefficient))} {variable}{'²' if power == 2 else ''}"
        return text + ("" if np.isnan(self.r2) else f"  (R² = {self.r2:.2f})")

    def at(self, x: Float[ndarray, " point"]) -> Float[ndarray, " point"]:
        """The trend's value at each x."""
        return np.polynomial.polynomial.polyval(np.asarray(x, float), self.coefficients)


def fit_trend(x: Float[ndarray, " point"], y: Float[ndarray, " point"]) -> Trend | None:
    """Least squares by a line and by a parabola; the one with the lower AIC.

    Args:
        x: Depth (layer), any units.
        y: Outcome; points where it is not finite are left out.

    Returns:
        None with fewer than 4 points or 2 distinct depths (3 for a parabola, else the line).

    Raises:
        ShapeError: If x and y differ in length.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    if x.shape != y.shape or x.ndim != 1:
        raise ShapeError(f"A trend needs as many depths as outcomes, got {x.shape} and {y.shape}.")
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = x[finite], y[finite]
    depths = len(np.unique(x))
    if len(x) < MINIMUM or depths < 2:
        return None
    line, line_error, line_aic = _fit(x, y, 1)
    curve, curve_error, curve_aic = _fit(x, y, 2) if depths > 2 else (line, line_error, np.inf)
    spread = float(((y - y.mean()) ** 2).sum())
    quadratic = curve_aic < line_aic
    error = curve_error if quadratic else line_error
    r2 = 1 - error / spread if spread > 0 else np.nan
    kind, coefficients = ("quadratic", curve) if quadratic else ("linear", line)
    return Trend(kind, tuple(float(c) for c in coefficients), float(r2), float(line_aic), float(curve_aic))


def _fit(x: ndarray, y: ndarray, degree: int) -> tuple[ndarray, float, float]:
    coefficients = np.polynomial.polynomial.polyfit(x, y, degree)
    error = float(((y - np.polynomial.polynomial.polyval(x, coefficients)) ** 2).sum())
    # A perfect fit has no likelihood: the floor is rounding error, so that of two perfect fits the line wins.
    floor = max(float((y**2).sum()), 1.0) * 1e-24
    aic = len(x) * np.log(max(error, floor) / len(x)) + 2 * (degree + 2)
    return coefficients, error, float(aic)


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
